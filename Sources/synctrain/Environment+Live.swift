import ControlAPI
import ControlClient

// The one file that the lead completes when AgentConfiguration and SyncAgent are merged: each closure below that throws
// `notJoined` is to do what its doc comment in CommandEnvironment.swift says.

extension CommandEnvironment {
    static var live: CommandEnvironment {
        CommandEnvironment(
            // AgentPlaces.resolve(home:environment:), with SYNCTRAIN_HOME and the XDG places.
            places: { _, _ in throw notJoined },
            connect: { ControlClient(socketPath: $0.socket) },
            // Identity and configuration as `init` wants them; Syncthing import.
            initialise: { _, _ in throw notJoined },
            deviceID: { _ in throw notJoined },
            // SyncAgent.run(…) with TransportTCP, LinkSecurity and AgentServer joined to it.
            runAgent: { _, _, _ in throw notJoined },
            configured: { _ in throw notJoined },
            edit: { _, _ in throw notJoined },
            resetIndex: { _, _ in throw notJoined })
    }

    private static let notJoined = ControlError(.failed, "This build has no agent.")
}
