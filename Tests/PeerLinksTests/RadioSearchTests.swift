import Testing
import Transport

@testable import PeerLinks
@testable import SyncDecisions

/// When absent devices are searched for by radio.
@Suite struct RadioSearchTests {
    private static let address = LinkAddress.bluetooth("C0:FF:EE:00:00:01")
    private static let other = LinkAddress.bluetooth("C0:FF:EE:00:00:02")

    private static func device(
        _ change: (inout RadioSearch.Candidate) -> Void = { _ in }
    ) -> RadioSearch.Candidate {
        var device = RadioSearch.Candidate(addresses: [address])
        change(&device)
        return device
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var device: RadioSearch.Candidate
        var isHeldBack = false
        var effort: RadioSearch.Effort
    }

    static let cases: [Case] = [
        Case(testDescription: "never seen", device: device(), effort: .background),
        Case(testDescription: "connected", device: device { $0.isConnected = true }, effort: .none),
        Case(
            testDescription: "connected, and asked for",
            device: device {
                $0.isConnected = true
                $0.isSought = true
                $0.hasWork = true
            }, effort: .none),
        Case(
            testDescription: "paused, and asked for",
            device: device {
                $0.isPaused = true
                $0.isSought = true
            }, effort: .none),
        Case(testDescription: "without an address on a radio", device: device { $0.addresses = [] }, effort: .none),
        Case(testDescription: "just lost", device: device { $0.unseen = .seconds(1) }, effort: .none),
        Case(testDescription: "away for a minute", device: device { $0.unseen = .seconds(60) }, effort: .background),
        Case(
            testDescription: "just lost, and something waits",
            device: device {
                $0.unseen = .seconds(1)
                $0.hasWork = true
            }, effort: .background),
        Case(
            testDescription: "just lost, and a person waits",
            device: device {
                $0.unseen = .seconds(1)
                $0.isSought = true
            }, effort: .searching),
        Case(
            testDescription: "kept off Bluetooth",
            device: device {
                $0.isPermitted = false
                $0.hasWork = true
            }, effort: .none),
        Case(
            testDescription: "kept off Bluetooth, and a person waits",
            device: device {
                $0.isPermitted = false
                $0.isSought = true
            }, effort: .searching),
        Case(
            testDescription: "a low battery", device: device { $0.hasWork = true }, isHeldBack: true, effort: .none),
        Case(
            testDescription: "a low battery, and a person waits", device: device { $0.isSought = true },
            isHeldBack: true, effort: .searching),
    ]

    @Test(arguments: cases) func effort(_ one: Case) {
        #expect(RadioSearch.effort(for: one.device, isHeldBack: one.isHeldBack) == one.effort)
    }

    @Test func allAbsentDevicesShareAScan() {
        let devices = [Self.device(), Self.device { $0.addresses = [Self.other] }]
        let plan = RadioSearch.plan(devices, isHeldBack: false, interval: .seconds(60))
        #expect(plan == RadioSearch.Plan(targets: [Self.address, Self.other]))
    }

    @Test(
        arguments: [
            // Nothing to find: nothing is to be decided before something changes.
            ([], RadioSearch.Plan()),
            ([device { $0.isConnected = true }, device { $0.isPaused = true }], RadioSearch.Plan()),
            ([device { $0.isPermitted = false }], RadioSearch.Plan()),
            // Its time has not come yet.
            ([device { $0.unseen = .seconds(45) }], RadioSearch.Plan(recheck: .seconds(15))),
            (
                [device { $0.unseen = .seconds(45) }, device { $0.unseen = .seconds(20) }],
                RadioSearch.Plan(recheck: .seconds(15))
            ),
            // Its own dial searches.
            ([device { $0.isSought = true }], RadioSearch.Plan(recheck: .seconds(60))),
            (
                [device { $0.isSought = true }, device { $0.addresses = [other] }],
                RadioSearch.Plan(targets: [other], recheck: .seconds(60))
            ),
        ] as [([RadioSearch.Candidate], RadioSearch.Plan)])
    func plan(_ devices: [RadioSearch.Candidate], _ plan: RadioSearch.Plan) {
        #expect(RadioSearch.plan(devices, isHeldBack: false, interval: .seconds(60)) == plan)
    }

    @Test func nothingIsSearchedForInTheBackgroundIfTheUserSaysSo() {
        #expect(RadioSearch.plan([Self.device()], isHeldBack: false, interval: nil) == RadioSearch.Plan())
        #expect(RadioSearch.plan([Self.device()], isHeldBack: true, interval: .seconds(60)) == RadioSearch.Plan())
    }

    @Test func whatAWindowSaysOfADevice() {
        let away = RadioWatch.Findings(targets: [Self.address])
        #expect(!away.hasHeard([Self.address]))
        #expect(away.whyAbsent([Self.address])?.english.hasPrefix("\(Self.address) is not in range") == true)
        // It was not listened for, or another one ended the window.
        #expect(away.whyAbsent([Self.other]) == nil)
        let other = RadioWatch.Findings(targets: [Self.address, Self.other], heard: [Self.other])
        #expect(other.hasHeard([Self.other]))
        #expect(other.whyAbsent([Self.address]) == nil)
        // The real cause, not that the device is away.
        let off = RadioWatch.Findings(
            targets: [Self.address], obstacles: [Self.address: "The adapter is switched off."])
        #expect(off.whyAbsent([Self.address])?.english == "\(Self.address): The adapter is switched off.")
    }

    @Test func aDialMaySearchOnlyWhileAPersonWaits() {
        var standing = RadioStanding()
        #expect(standing.effort(at: .zero) == nil)
        standing.heard(at: .seconds(10))
        #expect(standing.effort(at: .seconds(10)) == .connecting)
        #expect(standing.effort(at: .seconds(39)) == .connecting)
        #expect(standing.effort(at: .seconds(40)) == nil)
        standing.sought(at: .seconds(100))
        #expect(standing.effort(at: .seconds(144)) == .searching)
        #expect(standing.effort(at: .seconds(145)) == nil)
    }

    @Test func afterALinkItIsDialledWithoutASearch() {
        var standing = RadioStanding()
        standing.linkEnded(at: .seconds(10), wasByRadio: true)
        #expect(standing.effort(at: .seconds(11)) == .connecting)
        #expect(standing.lastLinkEnd == .seconds(10))
        // A network that went says nothing of the radio: it is searched for at once.
        standing = RadioStanding()
        standing.linkEnded(at: .seconds(10), wasByRadio: false)
        #expect(standing.effort(at: .seconds(11)) == nil)
        #expect(standing.lastLinkEnd == nil)
    }
}
