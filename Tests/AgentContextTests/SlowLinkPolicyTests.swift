import AgentConfiguration
import BlockExchange
import Testing
import Transport

@testable import AgentContext

@Suite struct SlowLinkPolicyTests {
    typealias Purpose = SlowLinkPolicy.Purpose
    typealias Obstacle = SlowLinkPolicy.Obstacle

    static let limit: Int64 = 1000
    static let purposes: [Purpose] = [.index, .answer, .kept(byteCount: limit), .kept(byteCount: limit + 1), .onDemand]

    /// What stands in the way of `purposes`, in their order.
    static let table: [(BluetoothUse, FolderConfiguration.Mode, [Obstacle?])] = [
        (.all, .full, [nil, nil, nil, .tooLarge(limit: limit), nil]),
        (.all, .selective, [nil, nil, nil, .tooLarge(limit: limit), nil]),
        (.selectedAndOnDemand, .full, [nil, nil, .notSelected, .notSelected, nil]),
        (.selectedAndOnDemand, .selective, [nil, nil, nil, .tooLarge(limit: limit), nil]),
        (.indexOnly, .full, [nil, .indexOnly, .indexOnly, .indexOnly, .indexOnly]),
        (.indexOnly, .selective, [nil, .indexOnly, .indexOnly, .indexOnly, .indexOnly]),
        (.off, .full, [.off, .off, .off, .off, .off]),
        (.off, .selective, [.off, .off, .off, .off, .off]),
    ]

    @Test(arguments: table)
    func `the table decides`(_ use: BluetoothUse, _ mode: FolderConfiguration.Mode, _ expected: [Obstacle?]) {
        let policy = SlowLinkPolicy(use: use, byteLimit: Self.limit, mode: mode)
        for kind in [LinkKind.l2cap, .gatt, .virtual] {
            #expect(Self.purposes.map { policy.obstacle(to: $0, over: kind) } == expected)
        }
        #expect(Self.purposes.allSatisfy { policy.obstacle(to: $0, over: .tcp) == nil })
    }

    @Test func `zero is no limit`() {
        let policy = SlowLinkPolicy(use: .all, byteLimit: 0, mode: .full)
        #expect(policy.obstacle(to: .kept(byteCount: .max), over: .gatt) == nil)
    }

    @Test func `the stricter of folder and device counts`() {
        for (place, folder) in BluetoothUse.allCases.enumerated() {
            for (otherPlace, device) in BluetoothUse.allCases.enumerated() {
                let configuration = FolderConfiguration(id: FolderID("f"), path: "/f", bluetooth: folder)
                let expected = BluetoothUse.allCases[max(place, otherPlace)]
                #expect(SlowLinkPolicy(configuration, with: device).use == expected)
            }
        }
    }

    /// What is allowed under a stricter word is allowed under a laxer one.
    @Test func `each word allows what the stricter ones do`() {
        for mode in FolderConfiguration.Mode.allCases {
            let allowed = BluetoothUse.allCases.map { use in
                let policy = SlowLinkPolicy(use: use, byteLimit: Self.limit, mode: mode)
                return Self.purposes.map { policy.obstacle(to: $0, over: .l2cap) == nil }
            }
            for (lax, strict) in zip(allowed, allowed.dropFirst()) {
                #expect(zip(lax, strict).allSatisfy { $0 || !$1 })
            }
        }
    }
}
