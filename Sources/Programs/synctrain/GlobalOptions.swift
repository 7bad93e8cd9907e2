import ArgumentParser
import Phrases

/// Options that every command takes, before or behind its name.
struct GlobalOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            translated("Directory for configuration, keys and index (also SYNCTRAIN_HOME)."), valueName: "dir"),
        completion: .directory)
    var home: String?

    @Option(help: ArgumentHelp(translated("Colour: auto, always or never."), valueName: "when"))
    var color = ColorChoice.auto

    @Flag(name: [.short, .long], help: ArgumentHelp(translated("Suppress progress and remarks.")))
    var quiet = false

    @Flag(help: ArgumentHelp(translated("Print the answer and errors as JSON.")))
    var json = false

    @Flag(
        name: [.short, .long], help: ArgumentHelp(translated("Answer yes to every question asked before data is lost."))
    )
    var yes = false
}

enum ColorChoice: String, ExpressibleByArgument, CaseIterable { case auto, always, never }

/// Moves global options that stand before or within the command's name behind it, where the parser looks for them.
enum GlobalOptionOrder {
    private static let withValue: Set = ["--home", "--color"]
    private static let flags: Set = ["-q", "--quiet", "--json", "-y", "--yes"]

    /// Whether there are global options at most, and no command.
    static func areAll(_ arguments: [String]) -> Bool { behindGlobals(arguments[...]).isEmpty }

    /// What stands behind the global options at the beginning.
    static func behindGlobals(_ arguments: ArraySlice<String>) -> ArraySlice<String> {
        var rest = arguments
        while let argument = rest.first {
            if flags.contains(argument) || withValue.contains(where: { argument.hasPrefix($0 + "=") }) {
                rest.removeFirst()
            } else if withValue.contains(argument), rest.count > 1 {
                rest.removeFirst(2)
            } else {
                break
            }
        }
        return rest
    }

    /// The arguments with the global options behind the command. A group of commands takes none: where no command of it follows they are
    /// dropped, and the parser reports what is missing or unknown.
    static func behindCommand(_ arguments: [String], root: any ParsableCommand.Type) -> [String] {
        var globals: [String] = []
        var names: [String] = []
        var rest = arguments[...]
        var command = root
        while true {
            let others = behindGlobals(rest)
            globals += rest.prefix(rest.count - others.count)
            rest = others
            guard let word = rest.first,
                let next = command.configuration.subcommands.first(where: { CommandNames.names($0).contains(word) })
            else { break }
            names.append(rest.removeFirst())
            command = next
        }
        let configuration = command.configuration
        let takesGlobals = configuration.subcommands.isEmpty || configuration.defaultSubcommand != nil
        return names + (takesGlobals ? globals : []) + rest
    }
}
