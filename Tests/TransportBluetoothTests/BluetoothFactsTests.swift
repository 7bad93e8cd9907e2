import Glibc
import MessageBus
import Testing

@testable import TransportBluetooth

@Suite struct BluetoothFactsTests {
    private let hci0 = "/org/bluez/hci0"
    private let hci1 = "/org/bluez/hci1"

    private func facts(
        _ adapters: [Objects.Object], wanted: String? = nil, change: (inout BluetoothFacts) -> Void = { _ in }
    ) -> BluetoothFacts {
        var facts = BluetoothFacts()
        facts.bus = .connected
        facts.isWatching = true
        facts.owner = ":1.1"
        facts.isLoaded = true
        facts.wantedAdapter = wanted
        facts.tree.replace(with: Objects.answer(adapters), at: .zero)
        change(&facts)
        return facts
    }

    // MARK: who is there

    @Test func onlyWhatIsHeardDuringASearchOrConnectedIsThere() throws {
        let paths = (1...4).map { hci0 + "/dev_C0_FF_EE_00_00_0\($0)" }
        let peers = try (1...4).map { try #require(BluetoothAddress("C0:FF:EE:00:00:0\($0)")) }
        var facts = facts([Objects.adapter(hci0)] + paths.map { Objects.device($0, adapter: hci0) })
        facts.tree.apply(Objects.changed(paths[0], BlueZ.device, ["RSSI": .int16(-60)]), at: .seconds(9))
        facts.tree.apply(Objects.changed(paths[1], BlueZ.device, ["RSSI": .int16(-60)]), at: .seconds(10))
        facts.tree.apply(Objects.changed(paths[2], BlueZ.device, ["Connected": .boolean(true)]), at: .seconds(3))
        // The first was heard before, the fourth is known to bluetoothd from some other time.
        #expect(facts.heard(peers, by: hci0, since: .seconds(10)) == [peers[1], peers[2]])
        #expect(facts.heard([peers[0], peers[3]], by: hci0, since: .seconds(10)) == [])
        #expect(facts.heard(peers, by: hci1, since: .zero) == [])
    }

    // MARK: state

    @Test func statesFromNothingToReady() {
        var facts = BluetoothFacts()
        #expect(facts.state.code == .starting)
        facts.bus = .lost(SystemError("sd_bus_open_system", ENOENT))
        #expect(facts.state.code == .noBus)
        facts.bus = .connected
        #expect(facts.state.code == .starting)
        facts.isWatching = true
        #expect(facts.state.code == .noService)
        facts.owner = ":1.1"
        #expect(facts.state.code == .starting)
        facts.isLoaded = true
        #expect(facts.state.code == .noAdapter)
        facts.tree.replace(with: Objects.answer([Objects.adapter(hci0, isPowered: false)]), at: .zero)
        #expect(facts.state.code == .poweredOff)
        facts.blocks.bySoftware = true
        #expect(facts.state.code == .blocked)
        facts.tree.replace(with: Objects.answer([Objects.adapter(hci0)]), at: .zero)
        #expect(facts.state.code == .ready)
        #expect(facts.state.adapter == "hci0")
        #expect(facts.state.address == BluetoothAddress("AA:00:00:00:00:01"))
        #expect(facts.state.isUsable)
    }

    /// Every state but the good ones says what to do.
    @Test func trouble() {
        let denied = BluetoothFacts.StepError(step: .load, isDenied: true, message: "no")
        let broken = BluetoothFacts.StepError(step: .advertise, isDenied: false, message: "Failed")
        let off = Objects.adapter(hci0, isPowered: false)
        let states: [BluetoothState] = [
            facts([]) { $0.bus = .lost(SystemError("x", ENOENT)) }.state, facts([]) { $0.owner = nil }.state,
            facts([]).state, facts([Objects.adapter(hci0)], wanted: "hci7").state, facts([off]).state,
            facts([off]) { $0.blocks.byHardware = true }.state, facts([]) { $0.blocks.bySoftware = true }.state,
            facts([Objects.adapter(hci0)]) {
                $0.isLoaded = false
                $0.refusal = denied
            }.state,
            facts([Objects.adapter(hci0)]) {
                $0.isListening = true
                $0.refusal = broken
            }.state,
        ]
        #expect(
            states.map(\.code) == [
                .noBus, .noService, .noAdapter, .noAdapter, .poweredOff, .blocked, .blocked, .notPermitted,
                .notAdvertising,
            ])
        for state in states {
            #expect(state.remedy?.isEmpty == false, "\(state.code)")
            #expect(state.message.hasSuffix("."), "\(state.message)")
        }
        #expect(states.map(\.isUsable) == [Bool](repeating: false, count: 8) + [true])
        #expect(states[3].description.contains("there is hci0"))
    }

    @Test func anAdapterIsChosen() {
        let adapters = [
            Objects.adapter(hci0, isPowered: false), Objects.adapter(hci1, address: "AA:00:00:00:00:02"),
        ]
        #expect(facts(adapters).adapter?.name == "hci1")
        #expect(facts(adapters, wanted: "hci0").adapter?.name == "hci0")
        #expect(facts(adapters, wanted: "hci0").state.code == .poweredOff)
        #expect(facts(adapters, wanted: "hci2").adapter == nil)
    }

    // MARK: steps

    /// Advertising fails while other programs have all places. Nothing else waits until it is tried again.
    @Test func aStepThatFailedHoldsUpNoOther() {
        var facts = facts([Objects.adapter(hci0)]) {
            $0.isListening = true
            $0.socketAdapter = hci0
            $0.applicationAdapter = hci0
            $0.refusal = BluetoothFacts.StepError(step: .advertise, isDenied: false, message: "Failed")
        }
        #expect(facts.nextStep(isRetryDue: false) == nil)
        #expect(facts.nextStep(isRetryDue: true) == .advertise)
        facts.isListening = false
        #expect(facts.nextStep(isRetryDue: false) == .unregisterApplication)
    }

    /// Does each step as if it succeeded, until there is none; gives them.
    private func perform(_ facts: inout BluetoothFacts) -> [BluetoothFacts.Step] {
        var steps: [BluetoothFacts.Step] = []
        while let step = facts.nextStep, steps.count < 20 {
            steps.append(step)
            switch step {
            case .watch:
                facts.isWatching = true
                facts.ownerChanged(to: ":1.1")
            case .load:
                facts.isLoaded = true
                facts.tree.replace(with: Objects.answer([Objects.adapter(hci0)]), at: .zero)
            case .openSocket: facts.socketAdapter = facts.adapter?.path
            case .closeSocket: facts.socketAdapter = nil
            case .registerApplication: facts.applicationAdapter = facts.adapter?.path
            case .unregisterApplication: facts.applicationAdapter = nil
            case .advertise: facts.advertisementAdapter = facts.adapter?.path
            case .stopAdvertising: facts.advertisementAdapter = nil
            }
        }
        return steps
    }

    @Test func comesUpAndGoesDownInOrder() {
        var facts = BluetoothFacts()
        #expect(facts.nextStep == nil)
        facts.bus = .connected
        #expect(perform(&facts) == [.watch, .load])
        facts.isListening = true
        #expect(perform(&facts) == [.openSocket, .registerApplication, .advertise])
        #expect(facts.state.isAdvertising)
        facts.isListening = false
        #expect(perform(&facts) == [.stopAdvertising, .unregisterApplication, .closeSocket])
    }

    @Test func recoversFromAnotherBluetoothd() {
        var facts = BluetoothFacts()
        facts.bus = .connected
        facts.isListening = true
        _ = perform(&facts)
        facts.ownerChanged(to: nil)
        #expect(facts.nextStep == nil)
        #expect(facts.state.code == .noService)
        facts.ownerChanged(to: ":1.2")
        // The socket is the kernel's and outlives bluetoothd.
        #expect(perform(&facts) == [.load, .registerApplication, .advertise])
    }

    @Test func recoversFromAnAdapterThatWasOff() {
        var facts = facts([Objects.adapter(hci0)]) { $0.isListening = true }
        #expect(perform(&facts) == [.openSocket, .registerApplication, .advertise])
        facts.tree.apply(Objects.changed(hci0, BlueZ.adapter, ["Powered": .boolean(false)]), at: .zero)
        #expect(perform(&facts) == [.stopAdvertising, .unregisterApplication, .closeSocket])
        facts.tree.apply(Objects.changed(hci0, BlueZ.adapter, ["Powered": .boolean(true)]), at: .zero)
        #expect(perform(&facts) == [.openSocket, .registerApplication, .advertise])
    }

    @Test func movesToAnotherAdapter() {
        var facts = facts([Objects.adapter(hci0)]) { $0.isListening = true }
        _ = perform(&facts)
        facts.tree.apply(Objects.removed(hci0, [BlueZ.adapter, BlueZ.advertising, BlueZ.applications]), at: .zero)
        facts.treeChanged()
        // What it was asked for went with it.
        #expect(perform(&facts) == [.closeSocket])
        facts.tree.apply(Objects.added(Objects.adapter(hci1, address: "AA:00:00:00:00:02")), at: .zero)
        facts.treeChanged()
        #expect(perform(&facts) == [.openSocket, .registerApplication, .advertise])
        #expect(facts.advertisementAdapter == hci1)
    }

    // MARK: uses

    @Test func theLastLinkTakesTheConnectionAlong() {
        var facts = BluetoothFacts()
        facts.uses["/d"] = .init(count: 2, isConnectedForUs: true, hasGATT: true)
        #expect(!facts.mayDial("/d"))
        /// Whether the end of one use has the device disconnected.
        func end(wasGATT: Bool = false) -> Bool { facts.endUse("/d", wasGATT: wasGATT) }
        #expect(end(wasGATT: true) == false)
        #expect(facts.mayDial("/d"))
        #expect(end() == true)
        #expect(facts.uses.isEmpty)
        #expect(end() == false)
        facts.uses["/d"] = .init(count: 1, isConnectedForUs: false)
        #expect(end() == false)
        facts.leaving = ["/d"]
        #expect(!facts.mayDial("/d"))
    }

    /// Both devices have dialled over the connection that this one made, and this one's link is given up for the other's.
    @Test func anAcceptedLinkKeepsTheConnection() throws {
        let client = BlueZClient(
            bus: try SystemBus(), adapter: nil, answer: { _, _ in .nothing }, disconnected: { _ in })
        client.update { $0.uses["/d"] = .init(count: 1, isConnectedForUs: true, hasGATT: true) }
        client.beginAcceptedUse("/d")
        client.endUse("/d", wasGATT: true)
        #expect(client.facts.leaving.isEmpty)
        #expect(client.facts.uses["/d"]?.count == 1)
        client.update { facts in
            let isOver = facts.endUse("/d", wasGATT: false)
            #expect(isOver)
        }
    }
}
