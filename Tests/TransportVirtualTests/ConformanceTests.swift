import NIOCore
import NIOPosix
import Synchronization
import Testing
import Transport
import TransportConformance
import TransportVirtual

enum NIOSingletons {
    static var loop: any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }
}

extension AirTests {
    /// What every transport has to do, over both kinds of link.
    @Suite(.timeLimit(.minutes(10))) struct ConformanceTests {
        private static let names = Atomic(0)

        @Test(arguments: TransportConformance.Check.allCases)
        func overL2CAP(check: TransportConformance.Check) async throws { try await run(check, .l2cap) }

        @Test(arguments: TransportConformance.Check.allCases)
        func overGATT(check: TransportConformance.Check) async throws { try await run(check, .gatt) }

        private func run(_ check: TransportConformance.Check, _ mode: VirtualConnection.Mode) async throws {
            try await withAir(conditions { $0.loss = 0.01 }, speed: 500) { air in
                let subject = ConformanceSubject(
                    dialler: VirtualTransport(air: air.path, name: "dialler", modes: [mode]),
                    listener: VirtualTransport(air: air.path, modes: [mode]),
                    address: { .virtual("listener-\(Self.names.add(1, ordering: .relaxed).newValue)") },
                    silentAddress: .virtual("nobody"), kind: mode == .l2cap ? .l2cap : .gatt,
                    closesDirectionsApart: false, bufferLimit: 256 * 1024, transferByteCount: 600_000,
                    cycleCount: 10_000,
                    change: { number in
                        try await air.change { conditions in
                            conditions.phy = number.isMultiple(of: 2) ? .oneMegabit : .twoMegabit
                            conditions.connectionInterval = .milliseconds(number.isMultiple(of: 3) ? 15 : 50)
                            conditions.delay = .milliseconds(number % 4 * 10)
                            conditions.loss = number.isMultiple(of: 4) ? 0.01 : 0.1
                        }
                    }, breakLinks: { try await air.cut() })
                try await TransportConformance(subject).run(check)
            }
        }
    }
}
