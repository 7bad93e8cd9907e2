import SyncTestKit
import Testing
import Transport

@testable import PortMapping

@Suite struct HostileTests {
    private func upnpOnly(_ change: (inout FakeRouter) -> Void) -> RouterSimulation {
        var router = FakeRouter()
        router.refusesPort = true
        change(&router)
        var simulation = RouterSimulation(router)
        simulation.advance(.seconds(30))
        return simulation
    }

    private func error(_ simulation: RouterSimulation) -> PortMappingError? {
        guard case .failed(let refusals) = simulation.machine.report.outcome else { return nil }
        return refusals.last?.error
    }

    @Test(arguments: [
        ("http://8.8.8.8/x", "8.8.8.8"), ("http://127.0.0.1:631/", "127.0.0.1"),
        ("http://192.168.1.2:8384/", "192.168.1.2"),
        ("http://192.168.2.1/x", "192.168.2.1"), ("http://169.254.169.254/latest/meta-data/", "192.168.1.1"),
        ("http://192.168.1.50/x", "192.168.1.1"), ("http://[::1]/", "192.168.1.1"), ("http://0.0.0.0/", "192.168.1.1"),
    ])
    func foreignLocationIsNeverAsked(location: String, sender: String) {
        let simulation = upnpOnly { $0.searchAnswers = [(ssdpAnswer(location), address(sender))] }
        #expect(simulation.router.requests.isEmpty)
        #expect(error(simulation)?.code == .foreignLocation)
    }

    @Test func eightRoutersAreAskedAndTheGatewayFirst() {
        let simulation = upnpOnly {
            $0.searchAnswers = (10..<60).map { (ssdpAnswer("http://192.168.1.\($0):1/"), address("192.168.1.\($0)")) }
            $0.description = Array("<root/>".utf8)
        }
        #expect(simulation.router.requests.count == 8)
        let late = upnpOnly {
            $0.searchAnswers =
                (10..<200).map { (ssdpAnswer("http://192.168.1.\($0):1/"), address("192.168.1.\($0)")) }
                + [(ssdpAnswer(FakeRouter.location), FakeRouter.gateway.address)]
        }
        #expect(late.grant?.method == .upnp && late.router.requests.first?.url.host == FakeRouter.gateway.address)
    }

    @Test func hugeDescription() {
        let simulation = upnpOnly { $0.description = [UInt8](repeating: UInt8(ascii: "<"), count: 100 << 20) }
        #expect(error(simulation)?.code == .tooLarge)
        #expect(simulation.router.requests.allSatisfy { $0.maximumBodyByteCount <= 256 * 1024 })
    }

    @Test func bombs() {
        let entities =
            "<!DOCTYPE l [<!ENTITY a \"aaaa\">" + (1...9).map { "<!ENTITY b\($0) \"&a;&a;&a;&a;\">" }.joined()
            + "]><l>&b9;</l>"
        #expect(error(upnpOnly { $0.description = Array(entities.utf8) })?.code == .malformed)
        let nested = String(repeating: "<device><deviceList>", count: 10_000)
        #expect(error(upnpOnly { $0.description = Array(nested.utf8) })?.code == .tooLarge)
    }

    @Test func endlessServicesAndRefusalsAreBounded() {
        var xml = "<root><device><deviceType>\(SSDP.gatewayTypes[0])</deviceType><serviceList>"
        for number in 0..<100 {
            xml += "<service><serviceType>urn:schemas-upnp-org:service:WANIPConnection:1</serviceType>"
            xml += "<controlURL>/\(number)</controlURL></service>"
        }
        xml += "</serviceList></device></root>"
        let simulation = upnpOnly {
            $0.description = Array(xml.utf8)
            $0.faults = [Int](repeating: 718, count: 1000)
        }
        #expect(simulation.grant == nil && simulation.router.requests.count <= 40)
        let shifting = upnpOnly { $0.faults = (0..<1000).map { [718, 725, 724][$0 % 3] } }
        #expect(shifting.router.requests.count <= 40)
    }

    @Test func answersFromOthersAreNothing() {
        var router = FakeRouter()
        router.isOn = false
        var simulation = RouterSimulation(router)
        let pcp: [UInt8] = [2, 0x80, 0, 0] + [UInt8](repeating: 0, count: 20)
        let count = simulation.router.datagramCount
        simulation.deliver(.datagram(pcp, from: address("192.168.1.66"), port: 5351))
        simulation.deliver(.datagram(pcp, from: FakeRouter.gateway.address, port: 9999))
        #expect(simulation.router.datagramCount == count)
        simulation.deliver(.datagram(pcp, from: FakeRouter.gateway.address, port: 5351))
        #expect(simulation.router.datagramCount == count + 1)
    }

    @Test func doubleNATIsSaidAndAnnouncedOnlyForWantOfOthers() {
        var router = FakeRouter()
        router.external = address("100.64.3.2")
        let inner = RouterSimulation(router).machine.report
        #expect(
            inner.summary
                == "The router at 192.168.1.1 maps TCP 22000 (PCP), but its own address 100.64.3.2 is not public: another NAT is "
                + "in front of it. Ask the internet provider for a public address, or map port "
                + "\(MachineTests.wanted[0]) on the other router too.")
        let outer = RouterSimulation(FakeRouter()).machine.report
        let port = MachineTests.wanted[0]
        #expect(MappedAddress.announced([inner]).map(\.linkAddress?.description) == ["tcp://100.64.3.2:\(port)"])
        #expect(MappedAddress.announced([inner, outer]).map(\.linkAddress?.description) == ["tcp://11.7.0.10:\(port)"])
        router.external = address("0.0.0.0")
        router.refusesPort = true
        let unknown = RouterSimulation(router).machine.report
        #expect(MappedAddress.announced([unknown]).map(\.linkAddress?.description) == ["tcp://0.0.0.0:\(port)"])
    }

    /// Whatever happens in whatever order: the machine asks for a bounded number of things, its deadline never stands still,
    /// and a new start maps the port.
    @Test(arguments: 0..<40)
    func anyOrderOfEvents(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var simulation = RouterSimulation(FakeRouter())
        for _ in 0..<200 {
            switch random.int(0...12) {
            case 0: simulation.deliver(.begin)
            case 1: simulation.deliver(.refused)
            case 2: simulation.router.isOn.toggle()
            case 3: simulation.router.reboot(at: simulation.now)
            case 4: simulation.router.pcp.toggle()
            case 5: simulation.router.natPMP.toggle()
            case 6: simulation.router.pcpResult = UInt8(random.int(0...14))
            case 7: simulation.router.natPMPResult = UInt16(random.int(0...6))
            case 8:
                let bytes =
                    [UInt8(random.pick([0, 2])), 0x80 | UInt8(random.int(0...2))] + random.bytes(random.int(0...60))
                simulation.deliver(.datagram(bytes, from: FakeRouter.gateway.address, port: 5351))
                simulation.deliver(.announcement(bytes, from: FakeRouter.gateway.address, port: 5351))
            case 9: simulation.router.upnp.toggle()
            case 10:
                simulation.router.faults = (0..<random.int(0...4)).map { _ in
                    random.pick([402, 501, 718, 724, 725, 606])
                }
            case 11:
                simulation.deliver(
                    .answer(random.int(0...9), .success(GatewayHTTPAnswer(status: 200, body: random.bytes(9)))))
            default: simulation.advance(.milliseconds(random.int(1...900_000)))
            }
            if let deadline = simulation.machine.deadline { #expect(deadline > simulation.now) }
            if let grant = simulation.grant { #expect(grant.externalPort > 0) }
        }
        simulation.router = FakeRouter()
        simulation.deliver(.begin)
        #expect(simulation.grant?.method == .pcp)
        #expect(simulation.router.mappings.values.contains(22000))
        #expect(simulation.router.datagramCount < 10)
    }
}
