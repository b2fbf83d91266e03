# fish completion for adze. Install: adze completion fish > ~/.config/fish/completions/adze.fish
function __adze_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (adze __complete fish -- $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files*'
                __fish_complete_path $current
            case ':directories*'
                __fish_complete_directories $current
            case '*'
                echo $line
        end
    end
end
complete -c adze -f -a '(__adze_complete)'
