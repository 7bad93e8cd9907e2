import ArgumentParser
import ControlAPI

struct InviteCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Make a code with which another device joins a folder.",
        discussion: """
            Prints a code that is good for one device, and for a day unless --for says otherwise. Give it to whoever is to \
            join by a way that nobody else reads: who has the code is let in. On that device: `synctrain join CODE`. \
            While an invitation is open, this device answers strangers who have one, over Bluetooth too.
            """)

    enum Role: String, ExpressibleByArgument, CaseIterable { case read, write, admin }

    @Argument(help: "The folder's id.")
    var folder: String?

    @Option(name: .customLong("as"), help: "What the device may do: read, write or admin; see `folder role`.")
    var role = Role.write

    @Option(
        name: .customLong("for"), help: ArgumentHelp("How long it is good: 1d, 12h, 30m.", valueName: "time"),
        transform: FreeCommand.age)
    var seconds: Int64 = InvitationRequest.usual

    @Flag(help: "List the invitations that there are.")
    var list = false

    @Option(help: ArgumentHelp("Withdraw the invitation of this number.", valueName: "number"))
    var revoke: Int64?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard [folder != nil, list, revoke != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("Give a folder's id, --list or --revoke, and one of them alone.")
        }
        guard (1...InvitationRequest.longest).contains(seconds) else {
            throw ValidationError("--for is from 1s to 30d.")
        }
    }

    func execute(in context: CommandContext) async throws {
        let agent = try context.agent()
        if let revoke {
            try await agent.call(Endpoints.revokeInvitation, revoke)
        } else if let folder {
            let invitation = try await agent.call(
                Endpoints.invite,
                InvitationRequest(folder: folder, role: role.rawValue, seconds: seconds))
            if global.json { return try context.output.print(bytes: try ControlJSON.encode(invitation)) }
            try context.output.print(invitation.code ?? "")
            try context.remark(
                "Good for one device until \(Timestamp.local(invitation.expires)), as \(invitation.role). There: "
                    + "synctrain join CODE. To withdraw it: synctrain invite --revoke \(invitation.number)")
        } else {
            let list = try await agent.call(Endpoints.invitations)
            if global.json { return try context.output.print(bytes: try ControlJSON.encode(list)) }
            guard !list.invitations.isEmpty else { return try context.remark("There are no invitations.") }
            let rows = list.invitations.map { invitation in
                [
                    String(invitation.number), context.style.name(invitation.folder), invitation.role,
                    invitation.state.rawValue, Timestamp.local(invitation.expires),
                    context.style.name(invitation.name ?? invitation.device ?? ""),
                ]
            }
            for line in Table.lines([["number", "folder", "role", "state", "until", "device"]] + rows) {
                try context.output.print(line)
            }
        }
    }
}

struct JoinCommand: RunnableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join", abstract: "Join a folder with a code that another device's `synctrain invite` printed.",
        discussion: """
            Reaches the device that invites, which stores this one, and adds that device and the folder here. Nothing is \
            stored if the code is not good any more. A code that was cut off in the middle of it can be tried again here.
            """)

    enum Mode: String, ExpressibleByArgument, CaseIterable { case selective, full }

    @Argument(help: "The code.")
    var code: String

    @Argument(
        help: "Where the folder is to lie; if not given, a directory with its name in the current one.",
        completion: .directory)
    var directory: String?

    @Option(help: "selective keeps what is picked, full keeps everything.")
    var mode = Mode.selective

    @Option(
        help: ArgumentHelp(
            "Where to reach the device that invites; where the code says, or near-by, if not given.",
            valueName: "address"))
    var address: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let answer = try await context.agent()
            .call(
                Endpoints.join,
                JoinRequest(
                    code: code, directory: directory.map(context.absolute) ?? context.process.workingDirectory,
                    isParent: directory == nil,
                    mode: mode.rawValue, address: address))
        if global.json { return try context.output.print(bytes: try ControlJSON.encode(answer)) }
        let style = context.style
        let name = answer.name.isEmpty ? StatusRendering.short(answer.device) : answer.name
        try context.output.print(
            "\(style.name(answer.folder)) is shared with \(style.name(name)), as \(answer.role), in \(style.name(answer.path))"
        )
    }
}
