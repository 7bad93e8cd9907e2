import Testing

@testable import AgentConfiguration

@Suite struct TransferPoliciesTests {
    typealias Hold = TransferPolicies.Hold

    private func read(_ text: String) throws -> TransferPolicies {
        try ConfigurationReader(file: "c", userHome: nil, hostName: "h").read(Array(text.utf8)).policies
    }

    @Test func policiesAreRead() throws {
        let policies = try read(
            """
            [policies]
            on-metered = "limit"
            metered-limit = "1 MiB/s"
            local-network = true
            on-battery = "pause"
            battery-below = 45
            """)
        #expect(
            policies
                == TransferPolicies(
                    onMetered: .limit, onBattery: .pause, batteryBelow: 45, meteredRate: 1 << 20,
                    includesLocalNetwork: true))
        #expect(try read("") == TransferPolicies())
        // The file that `init` writes says what holds without it.
        #expect(TransferPolicies().onMetered == .onDemandOnly)
        #expect(TransferPolicies().onBattery == .nothing)
    }

    @Test(arguments: [
        ("on-metered = \"stop\"", "on-metered"), ("on-metered = true", "on-metered"),
        ("on-battery = \"limit\"", "energy"), ("battery-below = 0", "percent"), ("battery-below = 101", "percent"),
        ("battery-below = 30.5", "30.5"), ("metered-limit = 0", "1 KiB/s"),
        ("metered-limit = \"fast\"", "metered-limit"), ("below = 30", "battery-below"), ("local-network = 1", "local"),
    ])
    func whatIsNoPolicyIsRefusedWithItsLine(_ text: String, _ word: String) {
        let error = #expect(throws: ConfigurationError.self) { try read("[policies]\n" + text) }
        #expect(error?.line == 2)
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
    }

    /// What nobody says holds nothing; nor does a charge that is exactly the bound.
    static let table: [(metered: Bool?, battery: Bool?, charge: Double?, below: Int, expected: [Hold])] = [
        (nil, nil, nil, 30, []), (false, false, nil, 30, []), (true, nil, nil, 30, [Hold(.metered, .pause)]),
        (nil, true, nil, 30, []), (nil, true, 30, 30, []), (nil, true, 29.9, 30, [Hold(.battery, .onDemandOnly)]),
        (nil, false, 10, 30, []), (nil, nil, 10, 30, []), (nil, true, 100, 100, [Hold(.battery, .onDemandOnly)]),
        (nil, true, nil, 100, [Hold(.battery, .onDemandOnly)]),
        (true, true, 0, 1, [Hold(.metered, .pause), Hold(.battery, .onDemandOnly)]),
    ]

    @Test(arguments: table.indices) func theStateDecides(_ number: Int) {
        let row = Self.table[number]
        let conditions = MachineConditions(isMetered: row.metered, isOnBattery: row.battery, charge: row.charge)
        let policies = TransferPolicies(onMetered: .pause, onBattery: .onDemandOnly, batteryBelow: row.below)
        #expect(policies.holds(in: conditions) == row.expected)
        let indifferent = TransferPolicies(onMetered: .nothing, onBattery: .nothing, batteryBelow: row.below)
        #expect(indifferent.holds(in: conditions).isEmpty)
    }

    /// A service on the bus may say anything.
    @Test(
        arguments: [
            (nil, nil), (.nan, nil), (-.nan, nil), (.infinity, 100), (-.infinity, 0), (1e300, 100), (-1, 0), (0, 0),
            (55.5, 55.5), (100, 100),
        ] as [(Double?, Double?)])
    func aChargeIsOfAHundred(percent: Double?, charge: Double?) {
        #expect(MachineConditions.charge(percent: percent) == charge)
    }
}
