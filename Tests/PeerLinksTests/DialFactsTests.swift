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

    private static func told(_ new: DialFacts, _ facts: inout DialFacts) -> [String] { words(facts.take(new)) }

    @Test func allThatIsNewIsTold() {
        var facts = DialFacts()
        let new = DialFacts(
            networks: MachineNetworks(), policy: DialPolicy(),
            addresses: [.global: ["tcp://b:1"], .configured: ["tcp://a:1"]])
        // Where the device was said to be before anything was known of it stays unsaid.
        let first = Self.told(new, &facts)
        #expect(
            first == [
                "networks 0", "policy false", "configured [\"tcp://a:1\"]", "global [\"tcp://b:1\"]",
            ])
        let again = Self.told(new, &facts)
        #expect(again == [])
    }

    @Test func onlyWhatIsDifferentIsTold() throws {
        var facts = DialFacts()
        var new = DialFacts(networks: MachineNetworks(), policy: DialPolicy(), addresses: [.local: ["tcp://a:1"]])
        _ = facts.take(new)
        new.policy?.isPaused = true
        var told = Self.told(new, &facts)
        #expect(told == ["policy true"])
        new.networks?.prefixes = [try NetworkPrefix(parsing: "10.0.0.0/8")]
        told = Self.told(new, &facts)
        #expect(told == ["networks 1"])
        // A source that says nothing any more.
        new.addresses = [:]
        told = Self.told(new, &facts)
        #expect(told == ["local []"])
        // Nothing said and nothing known are the same.
        new.addresses = [.local: []]
        told = Self.told(new, &facts)
        #expect(told == [])
    }
}
