import SyncTestKit
import Testing
import Transport

@testable import PortMapping

@Suite struct MachineTests {
    static let wanted = MappingIdentity(secret: [7]).externalPorts(
        port: ListenedPort(.tcp, 22000), gateway: FakeRouter.gateway, count: 10)

    struct Case: Sendable, CustomStringConvertible {
        var description: String
        var pcp: Bool
        var natPMP: Bool
        var upnp: Bool
        var expected: MappingMethod?
    }

    @Test(arguments: [
        Case(description: "all", pcp: true, natPMP: true, upnp: true, expected: .pcp),
        Case(description: "PCP", pcp: true, natPMP: false, upnp: false, expected: .pcp),
        Case(description: "NAT-PMP", pcp: false, natPMP: true, upnp: true, expected: .natPMP),
        Case(description: "UPnP", pcp: false, natPMP: false, upnp: true, expected: .upnp),
        Case(description: "none", pcp: false, natPMP: false, upnp: false, expected: nil),
    ])
    func theFirstThatWorks(item: Case) {
        var router = FakeRouter()
        (router.pcp, router.natPMP, router.upnp) = (item.pcp, item.natPMP, item.upnp)
        var simulation = RouterSimulation(router)
        simulation.advance(.seconds(6))
        #expect(simulation.grant?.method == item.expected)
        #expect(simulation.router.mappings == (item.expected == nil ? [:] : [Self.wanted[0]: 22000]))
        if item.expected != nil {
            #expect(simulation.grant?.externalAddress == address("11.7.0.10"))
            #expect(simulation.grant?.externalPort == Self.wanted[0])
        } else {
            #expect(
                simulation.machine.report.summary
                    == "The router at 192.168.1.1 does not answer PCP, NAT-PMP or UPnP. Switch UPnP or NAT-PMP on there, "
                    + "or forward port 22000 (TCP) to 192.168.1.2 by hand.")
        }
        // What answers at once is used at once.
        if item.pcp { #expect(simulation.router.datagramCount <= 4 && simulation.router.searchCount == 0) }
    }

    @Test func closedPortLeadsToUPnPAtOnce() {
        var router = FakeRouter()
        router.refusesPort = true
        let simulation = RouterSimulation(router)
        #expect(simulation.grant?.method == .upnp && simulation.now == .zero)
    }

    @Test func silenceIsAskedThreeTimesAndSearched() {
        var router = FakeRouter()
        router.isOn = false
        var simulation = RouterSimulation(router)
        simulation.advance(.seconds(10))
        #expect(simulation.router.datagramCount == 6 && simulation.router.searchCount == 4)
        // Tried again, less and less often.
        simulation.advance(.seconds(24 * 3600))
        #expect((40...60).contains(simulation.router.datagramCount / 6))
    }

    @Test func refusals() {
        var router = FakeRouter()
        router.pcpResult = 2
        #expect(RouterSimulation(router).grant?.method == .natPMP)
        router.natPMPResult = 2
        #expect(RouterSimulation(router).grant?.method == .upnp)
        router.faults = [606]
        let simulation = RouterSimulation(router)
        #expect(simulation.grant == nil)
        #expect(
            simulation.machine.report.summary
                == "The router at 192.168.1.1 does not map TCP 22000: it does not let this device map ports (PCP). Switch UPnP "
                + "or NAT-PMP on for this device there, or forward port 22000 (TCP) to 192.168.1.2 by hand.")
    }

    @Test func otherPortsAreTakenFromTheAnswer() {
        var router = FakeRouter()
        router.taken = [Self.wanted[0]]
        #expect(RouterSimulation(router).grant?.externalPort == Self.wanted[0] + 1)
        router.pcp = false
        #expect(RouterSimulation(router).grant?.externalPort == Self.wanted[0] + 1)
        router.refusesPort = true
        #expect(RouterSimulation(router).grant?.externalPort == Self.wanted[1])
        router.serviceVersion = 2
        #expect(RouterSimulation(router).grant?.externalPort == Self.wanted[0] + 1)
    }

    @Test func tenPortsAreTriedAndNoMore() {
        var router = FakeRouter()
        router.refusesPort = true
        router.taken = Set(Self.wanted.dropLast())
        #expect(RouterSimulation(router).grant?.externalPort == Self.wanted[9])
        router.taken = Set(Self.wanted)
        let simulation = RouterSimulation(router)
        #expect(simulation.grant == nil && simulation.router.requests.count == 12)
    }

    @Test func permanentLeaseIsTakenAndDeletedAtTheEnd() {
        var router = FakeRouter()
        router.refusesPort = true
        router.allowsLeases = false
        var simulation = RouterSimulation(router)
        #expect(simulation.grant?.lease == nil && simulation.router.mappings == [Self.wanted[0]: 22000])
        simulation.deliver(.end)
        #expect(simulation.router.mappings.isEmpty && simulation.machine.hasEnded)
    }

    @Test(arguments: MappingMethod.allCases)
    func deletedAtTheEnd(method: MappingMethod) {
        var simulation = RouterSimulation(FakeRouter()) { $0.methods = [method] }
        #expect(simulation.grant?.method == method)
        simulation.deliver(.end)
        #expect(simulation.router.mappings.isEmpty && simulation.machine.hasEnded)
        // A router that has gone does not hold up the end.
        var silent = RouterSimulation(FakeRouter()) { $0.methods = [method] }
        silent.router.isOn = false
        silent.deliver(.end)
        silent.advance(.seconds(2))
        #expect(silent.machine.hasEnded)
    }

    /// The answer to a renewal says nothing about the deletion that was sent after it: that may have been lost, and is sent again.
    @Test(arguments: [MappingMethod.pcp, .natPMP])
    func deletedAtTheEndWhileARenewalIsUnderWay(method: MappingMethod) {
        var simulation = RouterSimulation(FakeRouter()) { $0.methods = [method] }
        simulation.router.isOn = false
        simulation.advance(.seconds(601))
        simulation.deliver(.end)
        simulation.router.isOn = true
        for answer in simulation.router.answer(.toGateway(mapRequest(of: simulation, by: method)), at: simulation.now) {
            simulation.deliver(answer)
        }
        #expect(!simulation.machine.hasEnded && !simulation.router.mappings.isEmpty)
        simulation.advance(.seconds(1))
        #expect(simulation.router.mappings.isEmpty && simulation.machine.hasEnded)
    }

    /// A port that the router has mapped is deleted, also if its answer came too late.
    @Test(arguments: [MappingMethod.pcp, .natPMP])
    func deletedAtTheEndBeforeTheFirstAnswer(method: MappingMethod) {
        var router = FakeRouter()
        router.losesAnswersToMaps = true
        var simulation = RouterSimulation(router) { $0.methods = [method] }
        #expect(simulation.grant == nil && !simulation.router.mappings.isEmpty)
        simulation.deliver(.end)
        simulation.advance(.seconds(2))
        #expect(simulation.router.mappings.isEmpty && simulation.machine.hasEnded)
    }

    private func mapRequest(of simulation: RouterSimulation, by method: MappingMethod) -> [UInt8] {
        if method == .pcp { return simulation.machine.pcpRequest(lifetime: 3600).bytes }
        return NATPMP.Request.map(.tcp, internalPort: 22000, externalPort: Self.wanted[0], lifetime: 3600).bytes
    }

    @Test(arguments: MappingMethod.allCases)
    func renewals(method: MappingMethod) {
        var simulation = RouterSimulation(FakeRouter()) {
            $0.methods = [method]
            $0.renewal = .seconds(7200)
        }
        let datagrams = simulation.router.datagramCount + simulation.router.requests.count
        simulation.advance(.seconds(1799))
        #expect(simulation.router.datagramCount + simulation.router.requests.count == datagrams)
        // At half the lease a lost mapping is there again, under the same port.
        simulation.router.reboot(at: simulation.now)
        simulation.advance(.seconds(2))
        #expect(simulation.router.mappings == [Self.wanted[0]: 22000])
        simulation.advance(.seconds(24 * 3600))
        #expect(simulation.grant?.method == method)
    }

    @Test func shortLeaseIsRenewedInTimeButNotAllTheTime() {
        var router = FakeRouter()
        router.lifetime = 120
        var simulation = RouterSimulation(router)
        simulation.advance(.seconds(600))
        #expect((10...14).contains(simulation.router.datagramCount))
        router.lifetime = 1
        simulation = RouterSimulation(router)
        simulation.advance(.seconds(600))
        #expect(simulation.router.datagramCount < 600 / 15 * 4)
    }

    @Test func changedExternalAddressIsSeenAtRenewal() {
        var simulation = RouterSimulation(FakeRouter())
        simulation.router.external = address("11.7.0.99")
        simulation.advance(.seconds(601))
        #expect(simulation.grant?.externalAddress == address("11.7.0.99"))
    }

    @Test(arguments: [true, false])
    func rebootIsAnnounced(isPCP: Bool) {
        var simulation = RouterSimulation(FakeRouter()) { $0.methods = [isPCP ? .pcp : .natPMP] }
        simulation.advance(.seconds(100))
        simulation.router.reboot(at: simulation.now)
        simulation.deliver(announcement(isPCP: isPCP, epoch: 0))
        #expect(simulation.router.mappings == [Self.wanted[0]: 22000])
        // The repetitions, and anybody's, cost at most one renewal in a minute.
        let count = simulation.router.datagramCount
        for second in 0..<300 {
            simulation.deliver(announcement(isPCP: isPCP, epoch: UInt32(second)))
            simulation.advance(.seconds(1))
        }
        #expect(simulation.router.datagramCount - count <= 12)
        // From another sender they are nothing.
        let before = simulation.router.datagramCount
        simulation.deliver(
            .announcement([0, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4], from: address("192.168.1.9"), port: 5351))
        #expect(simulation.router.datagramCount == before)
    }

    /// A router that had only just started tells its restart by its epoch being younger than the mapping.
    @Test func restartOfAYoungRouterIsNoticed() {
        var router = FakeRouter()
        router.booted = .zero
        var simulation = RouterSimulation(router) { $0.methods = [.natPMP] }
        simulation.advance(.seconds(1))
        simulation.router.reboot(at: simulation.now)
        simulation.deliver(announcement(isPCP: true, epoch: 0))
        simulation.advance(.seconds(5))
        #expect(simulation.router.mappings == [Self.wanted[0]: 22000])
    }

    /// A router that tells each device that it knows: the multicast may be lost, or another program may have its port.
    @Test(arguments: [true, false])
    func rebootIsToldToThisDeviceAlone(isPCP: Bool) {
        var simulation = RouterSimulation(FakeRouter()) { $0.methods = [isPCP ? .pcp : .natPMP] }
        simulation.advance(.seconds(100))
        // Answers that come late, or twice, cost nothing.
        let count = simulation.router.datagramCount
        simulation.deliver(unasked(isPCP: isPCP, epoch: simulation.router.epoch(at: simulation.now)))
        simulation.advance(.seconds(120))
        #expect(simulation.router.datagramCount == count)
        simulation.router.reboot(at: simulation.now)
        simulation.deliver(unasked(isPCP: isPCP, epoch: 0))
        #expect(simulation.router.mappings == [Self.wanted[0]: 22000])
    }

    /// A router that is up again while UPnP is tried is asked as soon as that has failed, not after five minutes.
    @Test func announcementDuringASearchCounts() throws {
        var router = FakeRouter()
        router.isOn = false
        router.upnp = false
        var simulation = RouterSimulation(router)
        while simulation.router.searchCount == 0 { simulation.advance(.milliseconds(100)) }
        guard case .searching = simulation.machine.phase else {
            Issue.record("the search is over")
            return
        }
        simulation.router.isOn = true
        simulation.deliver(announcement(isPCP: true, epoch: 0))
        simulation.advance(.seconds(15))
        #expect(simulation.grant?.method == .pcp)
    }

    @Test func routerThatComesUpIsAskedAtOnce() {
        var router = FakeRouter()
        router.isOn = false
        var simulation = RouterSimulation(router)
        simulation.advance(.seconds(60))
        simulation.router.isOn = true
        simulation.deliver(announcement(isPCP: true, epoch: 0))
        #expect(simulation.grant?.method == .pcp)
    }

    @Test func announcedAddressLeadsToARenewal() {
        var simulation = RouterSimulation(FakeRouter()) { $0.methods = [.natPMP] }
        simulation.advance(.seconds(100))
        simulation.router.external = address("11.7.0.77")
        simulation.deliver(
            .announcement(
                [0, 0x80, 0, 0] + simulation.router.epoch(at: simulation.now).networkBytes + [11, 7, 0, 77],
                from: FakeRouter.gateway.address, port: 5351))
        #expect(simulation.grant?.externalAddress == address("11.7.0.77"))
    }

    @Test func otherProtocolAfterAChangeOfRouter() {
        var simulation = RouterSimulation(FakeRouter())
        simulation.router.pcp = false
        simulation.router.natPMP = false
        simulation.advance(.seconds(620))
        #expect(simulation.grant?.method == .upnp && simulation.grant?.externalPort == Self.wanted[0])
    }

    @Test func silentRouterKeepsItsMappingUntilTheLeaseEnds() {
        var simulation = RouterSimulation(FakeRouter())
        simulation.router.isOn = false
        simulation.advance(.seconds(3590))
        #expect(simulation.grant != nil)
        simulation.advance(.seconds(20))
        #expect(simulation.grant == nil)
        simulation.router.isOn = true
        simulation.deliver(.begin)
        #expect(simulation.grant != nil)
    }

    @Test func refusalAtRenewalWithdraws() {
        var simulation = RouterSimulation(FakeRouter()) { $0.methods = [.pcp] }
        simulation.router.pcpResult = 2
        simulation.advance(.seconds(601))
        #expect(simulation.grant == nil)
        simulation.router.pcpResult = 0
        simulation.advance(.seconds(601))
        #expect(simulation.grant != nil)
    }

    @Test func vanishedGatewayWithdrawsAtOnce() {
        var simulation = RouterSimulation(FakeRouter())
        let count = simulation.router.datagramCount
        simulation.deliver(.gone)
        #expect(simulation.grant == nil && simulation.machine.hasEnded && simulation.router.datagramCount == count)
    }

    @Test func ipv6OnlyAsksPCPForThePortItself() {
        let gateway = Gateway(
            address: address("fe80::1%eth0"), interface: "eth0",
            local: LocalAddress(address("2a00:1::2"), prefixLength: 64))
        var machine = MappingMachine(
            gateway: gateway, port: ListenedPort(.tcp, 22000), identity: MappingIdentity(secret: [7]))
        #expect(machine.handle(.begin, at: .zero) == [.toGateway(PCP.Request(client: gateway.local.address).bytes)])
        let answer: [UInt8] = [2, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9] + [UInt8](repeating: 0, count: 12)
        let actions = machine.handle(.datagram(answer, from: address("fe80::1%2"), port: 5351), at: .zero)
        guard case .toGateway(let bytes) = actions.first else { return #expect(Bool(false), "no MAP request") }
        #expect(bytes.count == 60 && Array(bytes[40..<44]) == hex("55f055f0"))
        #expect(Array(bytes[44...]) == [UInt8](repeating: 0, count: 16))
        let granted = Array(bytes[24..<44]) + gateway.local.address.bytes
        let map = [2, 0x81, 0, 0, 0, 0, 14, 16, 0, 0, 0, 9] + [UInt8](repeating: 0, count: 12) + granted
        _ = machine.handle(.datagram(map, from: gateway.address, port: 5351), at: .zero)
        #expect(
            machine.report.summary == "The router at fe80::1%eth0 lets connections to [2a00:1::2]:22000 in (PCP).")
        #expect(
            MappedAddress.announced([machine.report]).map(\.linkAddress?.description) == ["tcp://[2a00:1::2]:22000"])
    }

    /// The same, to this device's own socket.
    private func unasked(isPCP: Bool, epoch: UInt32) -> MappingMachine.Event {
        guard case .announcement(let bytes, let sender, let port) = announcement(isPCP: isPCP, epoch: epoch) else {
            return .refused
        }
        return .datagram(bytes, from: sender, port: port)
    }

    private func announcement(isPCP: Bool, epoch: UInt32) -> MappingMachine.Event {
        let bytes: [UInt8] =
            isPCP
            ? [2, 0x80, 0, 0, 0, 0, 0, 0] + epoch.networkBytes + [UInt8](repeating: 0, count: 12)
            : [0, 0x80, 0, 0] + epoch.networkBytes + [11, 7, 0, 10]
        return .announcement(bytes, from: FakeRouter.gateway.address, port: 5351)
    }
}
