# bash completion for adze. Install: adze completion bash > ~/.local/share/bash-completion/completions/adze
_adze() {
    local line value files='' cur=$2 IFS=$'\n'
    COMPREPLY=()
    for line in $(adze __complete bash -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null); do
        value=${line%%$'\t'*}
        case $value in
            :files) files=file ;;
            :directories) files=directory ;;
            *) COMPREPLY+=("$value") ;;
        esac
    done
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        COMPREPLY+=($(compgen -A "$files" -- "$cur"))
    fi
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _adze adze
