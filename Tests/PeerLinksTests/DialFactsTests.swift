import AgentContext
import Testing
import Transport

@testable import LinkRules
@testable import PeerLinks

@Suite struct DialFactsTests {
    private static func words(_ events: [DeviceLinks.Event]) -> [String] {
        events.map { event in
            switch event {
            case .networks(let prefixes, _): "networks \(prefixes.count)"
            case .policy(let policy): "policy \(policy.isPaused)"
            case .costs(let costs): "costs \(costs.count)"
            case .addresses(let source, let addresses): "\(source) \(addresses)"
            default: "something else"
            }
        }
    }

    @Test func allThatIsNewIsTold() {
        var facts = DialFacts()
        let new = DialFacts(
            networks: MachineNetworks(), policy: DialPolicy(),
            addresses: [.global: ["tcp://b:1"], .configured: ["tcp://a:1"]])
        // Where the device was said to be before anything was known of it stays unsaid.
        #expect(
            Self.words(facts.take(new)) == [
                "networks 0", "policy false", "configured [\"tcp://a:1\"]", "global [\"tcp://b:1\"]",
            ])
        #expect(facts.take(new).isEmpty)
    }

    @Test func onlyWhatIsDifferentIsTold() throws {
        var facts = DialFacts()
        var new = DialFacts(networks: MachineNetworks(), policy: DialPolicy(), addresses: [.local: ["tcp://a:1"]])
        _ = facts.take(new)
        new.policy?.isPaused = true
        #expect(Self.words(facts.take(new)) == ["policy true"])
        new.networks?.prefixes = [try NetworkPrefix(parsing: "10.0.0.0/8")]
        #expect(Self.words(facts.take(new)) == ["networks 1"])
        // A source that says nothing any more.
        new.addresses = [:]
        #expect(Self.words(facts.take(new)) == ["local []"])
        // Nothing said and nothing known are the same.
        new.addresses = [.local: []]
        #expect(facts.take(new).isEmpty)
    }
}
