#compdef adze
# zsh completion for adze. Install: adze completion zsh > a directory of $fpath, as _adze
_adze() {
    local line value about
    local -a offers
    for line in "${(@f)$(adze __complete zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        value=${line%%$'\t'*}
        about=${line#*$'\t'}
        case $value in
            '') ;;
            :files) _files ;;
            :directories) _files -/ ;;
            *) offers+=("${value//:/\\:}:$about") ;;
        esac
    done
    (( ${#offers} )) && _describe -V 'adze' offers
}
if [[ $funcstack[1] == _adze ]]; then
    _adze "$@"
else
    compdef _adze adze
fi
