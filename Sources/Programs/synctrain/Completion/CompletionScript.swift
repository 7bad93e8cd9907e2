/// The completion scripts: what the parser makes of itself, and words that the agent knows, by the hidden command `complete`.
///
/// The parser's own way for words of a program is not used: in bash its script has the shell expand them (`compgen -W`), and
/// a file of another device may be called `$(…)`. Here the words go from NUL to NUL, and nothing evaluates them.
enum CompletionScript {
    /// - Parameter parsers: the script that the parser makes for the shell.
    static func text(_ shell: TypedLine.Shell, parsers script: String) -> String {
        switch shell {
        case .bash: script + "\n" + bash
        case .fish: script + "\n" + fish
        case .zsh: zsh(script)
        }
    }

    private static let bash = #"""

        _synctrain_live() {
            local -a found=() files=()
            local item
            while IFS='' read -r -d '' item; do
                found+=("${item}")
            done < <(command -- "${COMP_WORDS[0]}" complete bash -- "${COMP_LINE:0:COMP_POINT}" "${COMP_WORDBREAKS}" 2>/dev/null)
            if [[ "${#found[@]}" -eq 0 ]]; then
                _synctrain "${@}"
                return
            fi
            compopt +o filenames
            case "${found[0]}" in
            *: | */)
                [[ "${#found[@]}" -eq 1 ]] && compopt -o nospace
                ;;
            esac
            COMPREPLY=("${found[@]}")
        }

        complete -o filenames -F _synctrain_live synctrain
        """#

    /// fish asks for an option's value only who has declared the option.
    private static let fish = #"""

        set -l live '(set -l typed (commandline -opc); command $typed[1] complete fish -- "$(commandline -cp)" 2>/dev/null | string split0)'
        complete -c synctrain -a $live
        for name in device folder from to
            complete -c synctrain -n "string match -q -- --$name (commandline -opc)[-1]" -l $name -x -a $live
        end
        """#

    /// Put in before the parser's script calls its function or registers it.
    private static func zsh(_ script: String) -> String {
        let end = #"if [[ "${funcstack[1]}" = _synctrain ]]; then"#
        let live = #"""
            functions[_synctrain_static]="${functions[_synctrain]}"

            _synctrain() {
                local -a found directories others
                local item
                found=("${(@0)"$(command "${words[1]}" complete zsh -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)"}")
                for item in "${found[@]}"; do
                    case "${item}" in
                    '') ;;
                    *:|*/) directories+=("${item}") ;;
                    *) others+=("${item}") ;;
                    esac
                done
                if [[ "${#directories}" -gt 0 ]]; then compadd -S '' -- "${directories[@]}"; fi
                if [[ "${#others}" -gt 0 ]]; then compadd -- "${others[@]}"; fi
                if [[ "${#others}" -gt 0 || "${PREFIX}" = *:* && "${#directories}" -gt 0 ]]; then return 0; fi
                _synctrain_static "${@}"
            }


            """#
        return script.replacing(end, with: live + end)
    }
}
