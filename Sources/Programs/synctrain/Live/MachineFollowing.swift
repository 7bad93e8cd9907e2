import AgentContext
import MachineState
import ServiceLifecycle
import SyncAgent

/// Follows how the machine is connected and powered while the agent runs.
struct MachineFollowing: Service {
    let observer: MachineObserver

    func run() async {
        await cancelWhenGracefulShutdown { await observer.run() }
    }
}

extension MachineObserver: MachineStateSource {}
