import AgentConfiguration
import Logging
import MessageBus
import Testing

@testable import MachineState

struct MachineObserverTests {
    private static func signal(_ member: String, _ path: String, _ arguments: [BusValue]) -> BusNotice {
        BusNotice(sender: ":1.5", path: path, interface: "i", member: member, arguments: arguments)
    }

    private static func sleep(_ begins: Bool) -> BusNotice {
        signal(Names.sleep, Names.logind.path, [.boolean(begins)])
    }

    private static func owner(of service: String) -> BusNotice {
        signal("NameOwnerChanged", Names.busPath, [.string(service), .string(":1.5"), .string("")])
    }

    /// What `sleep` has said so far: true for a sleep that is over.
    private static func isOver(_ observer: MachineObserver, _ count: Int) async -> [Bool] {
        var said: [Bool] = []
        for await change in observer.sleep {
            if case .over = change { said.append(true) } else { said.append(false) }
            if said.count == count { break }
        }
        return said
    }

    /// While the machine goes to sleep, programs that read from a mount are told that no device has it. That does not stay so where nobody
    /// would say that the sleep is over.
    @Test func aSleepIsOverWhereNobodyWouldSaySo() async throws {
        let ends: [(String, (MachineObserver) -> Void)] = [
            ("logind has said so", { $0.busSignalled(Self.sleep(false)) }),
            ("the bus is lost", { $0.busLost(SystemError("sd_bus_process", 104)) }),
            ("logind goes", { $0.busSignalled(Self.owner(of: Names.logind.service)) }),
        ]
        for (what, end) in ends {
            let observer = try MachineObserver(logger: Logger(label: "test"))
            observer.busSignalled(Self.sleep(true))
            end(observer)
            // The newest two are kept.
            observer.busSignalled(Self.sleep(true))
            #expect(await Self.isOver(observer, 2) == [true, false], "\(what)")
        }
    }

    @Test func whatSaysNothingOfSleepEndsNone() async throws {
        let observer = try MachineObserver(logger: Logger(label: "test"))
        observer.busLost(SystemError("sd_bus_open_system", 2))
        observer.busSignalled(Self.sleep(true))
        observer.busSignalled(Self.owner(of: Names.upower.service))
        observer.busSignalled(Self.sleep(true))
        #expect(await Self.isOver(observer, 2) == [false, false])
    }
}
