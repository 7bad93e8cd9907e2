import BlockExchange
import Testing
import Transport

@testable import LinkRules
@testable import PeerLinks

@Suite struct ConnectedDialTests {
    private static let own = DeviceID(certificateDER: [1])
    private static let device = DeviceID(certificateDER: [2])
    private static let other = DeviceID(certificateDER: [3])

    private static func problem(
        _ peer: DeviceID, _ source: AddressSource = .configured, at address: String = "tcp://192.0.2.7:22000",
        policy: DialPolicy? = DialPolicy()
    ) throws -> ConnectedDial.Problem? {
        let attempt = DialPlan.Attempt(
            number: 1, target: try DialTarget(parsing: "tcp://nas:22000"), group: .wide, source: source,
            isFurther: false)
        return ConnectedDial(attempt, peer: peer, remoteAddress: address)
            .problem(dialling: device, from: own, policy: policy)
    }

    @Test func whoWasDialledIsRight() throws { #expect(try Self.problem(Self.device) == nil) }

    @Test func somebodyElseIsNot() throws {
        let another = try #require(try Self.problem(Self.other))
        #expect(another.failure == .otherDevice)
        #expect(another.text?.english.contains(Self.other.description) == true)
        #expect(try Self.problem(Self.own)?.failure == .ourself)
    }

    /// Of what others say of a device nobody can correct an address.
    @Test(arguments: AddressSource.allCases)
    func onlyTheOwnAddressIsReported(_ source: AddressSource) throws {
        let problem = try #require(try Self.problem(Self.other, source))
        #expect((problem.text != nil) == (source == .configured))
    }

    @Test func aNameMustNotLeadOutOfTheAllowedNetworks() throws {
        var policy = DialPolicy()
        policy.allowed = try AllowedNetworks(parsing: ["10.0.0.0/8"])
        let problem = try #require(try Self.problem(Self.device, policy: policy))
        #expect(problem.failure == .notAllowed)
        #expect(problem.text != nil)
        #expect(try Self.problem(Self.device, at: "tcp://10.0.0.1:22000", policy: policy) == nil)
    }
}
