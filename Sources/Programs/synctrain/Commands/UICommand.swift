import ArgumentParser
import ControlAPI
import Phrases

struct UICommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ui", abstract: translated("Open the web page in a browser, logged in."),
            discussion: translated(
                """
                Creates a login link for one browser, writes a file in the runtime directory that redirects to it, and \
                opens that file with $SYNCTRAIN_OPEN or `xdg-open`. The link works once and for one minute; the login \
                lasts for 30 days without use, for 180 days at most, until --logout, or until the agent is started at \
                another port. A sandboxed browser (snap, flatpak) may not be able to read the file: use --no-open and \
                open the link in it.

                With a path, the page shows that file or directory.

                Other machines reach the page if `http.listen` is an address of theirs and `http.network` is true. It is then \
                encrypted, and browsers log in with a password. On a NAS without a screen:

                  synctrain ui --set-password
                  synctrain config set http.network true
                  synctrain config set http.listen 0.0.0.0:8394

                and restart the agent. --set-password asks twice for the password, or reads one line of standard input, and \
                logs out all browsers.
                """))
    }

    @Argument(help: ArgumentHelp(translated("File or directory to show.")), completion: .file())
    var path: String?

    @Flag(help: ArgumentHelp(translated("Print the link instead of opening it.")))
    var noOpen = false

    @Flag(help: ArgumentHelp(translated("Start the agent first if it is not running.")))
    var start = false

    @Flag(help: ArgumentHelp(translated("Log out all browsers.")))
    var logout = false

    @Flag(help: ArgumentHelp(translated("Set the password for browsers on other machines, and log out all browsers.")))
    var setPassword = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if noOpen, logout { throw ValidationError(translated("--no-open cannot be combined with --logout.")) }
        if path != nil, logout { throw ValidationError(translated("A path cannot be combined with --logout.")) }
        if setPassword, noOpen || logout { throw ValidationError(translated("--set-password is used alone.")) }
        if start, logout { throw ValidationError(translated("--start cannot be combined with --logout.")) }
    }

    func execute(in context: CommandContext) async throws {
        if logout { return try await endSessions(in: context) }
        if setPassword { return try await changePassword(in: context) }
        if start { _ = try await AgentProcess.startIfNeeded(in: context, timeout: .seconds(30)) }
        let command = noOpen ? nil : context.environment.opener(context.process.variables)
        let request = LoginRequest(hasPage: command != nil, path: path.map { context.path($0) })
        let link = try await context.agent().call(Endpoints.logIn, request)
        if let remark = link.remarkPhrase { try context.remark(remark.shown) }
        if let fingerprint = link.fingerprint {
            try context.remark(translated("The page's certificate has the SHA-256 fingerprint \(fingerprint)."))
        }
        if global.json {
            let opened = OpenedPage(
                url: link.url, seconds: link.seconds, page: link.page, remark: link.remark,
                fingerprint: link.fingerprint, with: command)
            try context.output.print(bytes: try ControlJSON.encode(opened))
        }
        guard let command, let page = link.page else {
            if !global.json { try context.output.print(link.url) }
            guard !noOpen else { return }
            return try context.remark(
                translated("xdg-open is not installed: open the link yourself within a minute, or set SYNCTRAIN_OPEN."))
        }
        try context.output.flush()
        do {
            // Never the link itself: arguments are shown to every user of the machine.
            try await context.environment.open(command, page, context.process.variables)
        } catch let error as ControlError {
            if !global.json { try context.output.print(link.url) }
            throw error
        }
    }

    private func changePassword(in context: CommandContext) async throws {
        let agent = try context.agent()
        let password = try await newPassword(in: context)
        let answer = try await agent.call(Endpoints.setPassword, PasswordChange(password: password))
        if global.json { return try context.output.print(bytes: try ControlJSON.encode(answer)) }
        try context.output.print(
            translated("The password is set. ")
                + translated(
                    answer.ended, one: "\(answer.ended) browser was logged out.",
                    many: "\(answer.ended) browsers were logged out.")
        )
        if answer.problem != nil {
            try context.remark(translated("Restart the agent: the page did not listen so far."))
        }
    }

    /// Asks twice on a terminal, without showing what is typed; else one line of standard input.
    private func newPassword(in context: CommandContext) async throws -> String {
        guard context.terminal.isInputTTY else {
            guard let line = try await context.terminal.nextLine() else {
                throw ControlError(.invalidRequest, "No password on standard input. Write it there as one line.")
            }
            return line.hasSuffix("\r") ? String(line.dropLast()) : line
        }
        let first = try await typed(
            translated("Password for the page (at least \(PasswordChange.shortest) characters): "), in: context)
        guard try await typed(translated("The same again: "), in: context) == first else {
            throw ControlError(.invalidRequest, "The two passwords differ. Nothing was changed.")
        }
        return first
    }

    private func typed(_ question: String, in context: CommandContext) async throws -> String {
        try context.process.errors.write(question)
        context.terminal.setEcho(false)
        defer {
            context.terminal.setEcho(true)
            try? context.process.errors.write("\n")
        }
        guard let line = try await context.terminal.nextLine() else {
            throw ControlError(.confirmationNeeded, "Nothing was changed.")
        }
        return line
    }

    private func endSessions(in context: CommandContext) async throws {
        let answer = try await context.agent().call(Endpoints.logOut)
        if global.json {
            try context.output.print(bytes: try ControlJSON.encode(answer))
        } else {
            try context.output.print(
                translated(
                    answer.ended, one: "\(answer.ended) browser was logged out.",
                    many: "\(answer.ended) browsers were logged out."))
        }
    }
}

/// The link, and what it is opened with.
private struct OpenedPage: Encodable {
    var schema = 1
    var url: String
    var seconds: Int
    /// The file that was opened.
    var page: String?
    /// Why it is at another port than the configuration says.
    var remark: String?
    /// The SHA-256 of the page's certificate.
    var fingerprint: String?
    var with: String?
}
