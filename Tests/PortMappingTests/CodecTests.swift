import SyncTestKit
import Testing
import Transport

@testable import PortMapping

/// Bytes captured from miniupnpd 2.3.1.
@Suite struct CodecTests {
    static let external = address("11.7.0.10")
    static let nonce = Array(UInt8(0)...11)

    @Test(arguments: [
        (NATPMP.Request.externalAddress, "0000"),
        (.map(.tcp, internalPort: 22000, externalPort: 0, lifetime: 3600), "0002000055f0000000000e10"),
        (.map(.udp, internalPort: 22000, externalPort: 40000, lifetime: 3600), "0001000055f09c4000000e10"),
    ])
    func natPMPRequests(request: NATPMP.Request, expected: String) { #expect(request.bytes == hex(expected)) }

    @Test func natPMPAnswers() throws {
        #expect(
            try NATPMP.Response(hex("0080000000000b570b07000a")).body == .externalAddress(Self.external))
        let mapped = try NATPMP.Response(hex("0082000000000b5755f055f000000e10"))
        #expect(mapped.epoch == 2903 && mapped.result == 0)
        #expect(mapped.body == .mapped(.tcp, internalPort: 22000, externalPort: 22000, lifetime: 3600))
        #expect(
            try NATPMP.Response(hex("0081000000000b5755f09c4000000e10")).body
                == .mapped(.udp, internalPort: 22000, externalPort: 40000, lifetime: 3600))
        let unknown = try NATPMP.Response(hex("0089000500000b57"))
        #expect(unknown.body == .failed(operation: 9) && unknown.refusal?.code == .unsupported)
    }

    @Test(arguments: [
        (1, PortMappingError.Code.unsupported), (2, .refused), (3, .routerOffline), (4, .noFreePort), (5, .unsupported),
        (77, .refused),
    ])
    func natPMPResults(result: Int, code: PortMappingError.Code) throws {
        let response = try NATPMP.Response([0, 0x82, 0, UInt8(result), 0, 0, 0, 9])
        #expect(response.refusal?.code == code && response.refusal?.result == result)
    }

    @Test(arguments: [
        "", "00", "0080", "008000", "0080000000000b57", "0002000000000b5755f055f000000e10", "01", "0083000000000001",
    ])
    func natPMPRefusesWhatIsNoAnswer(text: String) {
        #expect(throws: PortMappingError.self) { try NATPMP.Response(hex(text)) }
    }

    @Test func pcpRequests() {
        let map = PCP.Map(
            nonce: Self.nonce, transport: .tcp, internalPort: 22000, externalPort: 0,
            externalAddress: address("0.0.0.0"))
        #expect(
            PCP.Request(client: address("192.168.1.2"), lifetime: 3600, map: map).bytes
                == hex(
                    "0201000000000e1000000000000000000000ffffc0a80102000102030405060708090a0b"
                        + "0600000055f0000000000000000000000000ffff00000000"))
        #expect(
            PCP.Request(client: address("192.168.1.2")).bytes == hex("020000000000000000000000000000000000ffffc0a80102")
        )
    }

    @Test func pcpAnswers() throws {
        let text =
            "0281000000000e1000000b59000000000000000000000000000102030405060708090a0b0600000055f055f0"
            + "00000000000000000000ffff0b07000a"
        let response = try PCP.Response(hex(text))
        #expect(response.refusal == nil && response.lifetime == 3600 && response.epoch == 2905)
        #expect(
            response.map
                == PCP.Map(
                    nonce: Self.nonce, transport: .tcp, internalPort: 22000, externalPort: 22000,
                    externalAddress: Self.external))
        // An error may come without what was asked.
        let short = try PCP.Response(hex("028100020000000000000b59000000000000000000000000"))
        #expect(short.map == nil && short.refusal?.code == .refused)
        for length in 0..<60 where length != 24 {
            #expect(throws: PortMappingError.self) { try PCP.Response(hex(text).prefix(length)) }
        }
        #expect(throws: PortMappingError.self) { try PCP.Response(hex(text) + [UInt8](repeating: 0, count: 1100)) }
    }

    @Test func eachPCPResultIsExplained() throws {
        for result in UInt8(1)...20 {
            var bytes = hex("028100000000000000000b59000000000000000000000000")
            bytes[3] = result
            #expect(try PCP.Response(bytes).refusal?.result == Int(result))
        }
    }

    @Test func ssdp() throws {
        #expect(
            String(decoding: SSDP.search(for: SSDP.gatewayTypes[0]), as: UTF8.self)
                == "M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\n"
                + "ST: urn:schemas-upnp-org:device:InternetGatewayDevice:2\r\nMAN: \"ssdp:discover\"\r\nMX: 2\r\n\r\n")
        let answer = try SSDP.Answer(ssdpAnswer("http://192.168.1.1:33109/rootDesc.xml", header: "LoCaTiOn"))
        #expect(
            answer.location == RouterURL(host: address("192.168.1.1"), port: 33109, path: "/rootDesc.xml"))
        #expect(throws: PortMappingError.self) { try SSDP.Answer(ssdpAnswer("http://a/", type: "ssdp:all")) }
        #expect(throws: PortMappingError.self) { try SSDP.Answer(ssdpAnswer("http://router.example/")) }
        #expect(throws: PortMappingError.self) { try SSDP.Answer([UInt8](repeating: 65, count: 5000)) }
    }

    @Test(arguments: [
        ("http://192.168.1.1:5000/a/b.xml", "192.168.1.1:5000", "/a/b.xml"), ("http://10.0.0.1", "10.0.0.1:80", "/"),
        ("HTTP://10.0.0.1/?x=1#f", "10.0.0.1:80", "/?x=1"), ("http://[fd00::1]:99/x", "[fd00::1]:99", "/x"),
    ])
    func urls(text: String, authority: String, path: String) throws {
        let url = try RouterURL(text)
        #expect(url.authority == authority && url.path == path)
    }

    @Test(arguments: [
        "https://192.168.1.1/", "http://router/", "http://user@192.168.1.1/", "http://192.168.1.1:0/",
        "http://192.168.1.1:65536/", "http://192.168.1.1:+80/", "http://192.168.1.1/\r\nX: y", "http://192.168.1.1/a b",
        "file:///etc/passwd",
        "http://", "http://[fe80::1%25eth0]/", "http://[fd00::1]x/", "",
    ])
    func unusableURLs(text: String) { #expect(throws: PortMappingError.self) { try RouterURL(text) } }

    /// Host and port stay those of the description.
    @Test(arguments: [
        ("/ctl/IPConn", "/ctl/IPConn"), ("ctl/IPConn", "/desc/ctl/IPConn"), ("http://8.8.8.8:1/x?y", "/x?y"),
        ("http://8.8.8.8", "/"), ("?a", "/desc/?a"),
    ])
    func controlURLs(reference: String, path: String) throws {
        let url = try RouterURL("http://192.168.1.1:5000/desc/root.xml?q=/").resolving(reference)
        #expect(url == RouterURL(host: address("192.168.1.1"), port: 5000, path: path))
    }

    @Test func soapRequest() {
        let mapping = SOAP.Mapping(
            port: ListenedPort(.tcp, 22000), externalPort: 40001, client: address("192.168.1.2"), label: "a<b>&c",
            leaseSeconds: 3600)
        let body = String(decoding: SOAP.body(of: .add(mapping), serviceType: "urn:x"), as: UTF8.self)
        #expect(
            body.contains(
                "<u:AddPortMapping xmlns:u=\"urn:x\"><NewRemoteHost></NewRemoteHost><NewExternalPort>40001</NewExternalPort>"
                    + "<NewProtocol>TCP</NewProtocol><NewInternalPort>22000</NewInternalPort>"
                    + "<NewInternalClient>192.168.1.2</NewInternalClient><NewEnabled>1</NewEnabled>"
                    + "<NewPortMappingDescription>a&lt;b&gt;&amp;c</NewPortMappingDescription>"
                    + "<NewLeaseDuration>3600</NewLeaseDuration></u:AddPortMapping>"))
        #expect(
            SOAP.headers(of: .externalAddress, serviceType: "urn:x")[1] == (
                "SOAPAction", "\"urn:x#GetExternalIPAddress\""
            ))
    }

    @Test func soapAnswers() throws {
        #expect(
            try SOAP.Answer(
                status: 200,
                body: envelope("GetExternalIPAddress", "<NewExternalIPAddress>11.7.0.10</NewExternalIPAddress>"))
                == .done(externalAddress: Self.external, reservedPort: nil))
        #expect(
            try SOAP.Answer(status: 200, body: envelope("AddAnyPortMapping", "<NewReservedPort>4711</NewReservedPort>"))
                == .done(externalAddress: nil, reservedPort: 4711))
        #expect(try SOAP.Answer(status: 500, body: soapFault(718)) == .fault(code: 718, text: "because"))
        #expect(throws: PortMappingError.self) { try SOAP.Answer(status: 404, body: []) }
        #expect(throws: PortMappingError.self) { try SOAP.Answer(status: 200, body: Array("<html></html>".utf8)) }
    }

    @Test(arguments: [
        (402, PortMappingError.Code.malformed), (501, .refused), (606, .refused), (716, .unsupported),
        (718, .noFreePort),
        (724, .noFreePort), (725, .unsupported), (728, .noFreePort), (999, .refused),
    ])
    func upnpErrors(code: Int, meaning: PortMappingError.Code) { #expect(SOAP.error(code: code).code == meaning) }
}

func hex(_ text: String) -> [UInt8] { RouteTable.hexBytes(text[...]) ?? [] }

/// A number that the test knows to be one.
func address(_ text: String) -> IPAddress {
    guard let address = IPAddress(text) else { preconditionFailure("\(text) is not an address") }
    return address
}

func ssdpAnswer(_ location: String, type: String = SSDP.gatewayTypes[1], header: String = "LOCATION") -> [UInt8] {
    Array("HTTP/1.1 200 OK\r\nST: \(type)\r\nUSN: uuid:1::\(type)\r\n\(header): \(location)\r\n\r\n".utf8)
}

func envelope(_ action: String, _ content: String = "") -> [UInt8] {
    Array(
        """
        <?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>\
        <u:\(action)Response xmlns:u="urn:x">\(content)</u:\(action)Response></s:Body></s:Envelope>
        """.utf8)
}

func soapFault(_ code: Int) -> [UInt8] {
    Array(
        """
        <s:Envelope><s:Body><s:Fault><faultcode>s:Client</faultcode><faultstring>UPnPError</faultstring><detail>\
        <UPnPError xmlns="urn:schemas-upnp-org:control-1-0"><errorCode>\(code)</errorCode>\
        <errorDescription>because</errorDescription></UPnPError></detail></s:Fault></s:Body></s:Envelope>
        """.utf8)
}

func description(
    service: String = "WANIPConnection:1", control: String = "/ctl/IPConn", root: String = SSDP.gatewayTypes[0]
)
    -> [UInt8]
{
    Array(
        """
        <?xml version="1.0"?><root xmlns="urn:schemas-upnp-org:device-1-0"><device><deviceType>\(root)</deviceType>\
        <friendlyName>Box &amp; co</friendlyName><serviceList><service><serviceType>urn:x</serviceType></service></serviceList>\
        <deviceList><device><deviceType>urn:schemas-upnp-org:device:WANDevice:1</deviceType><deviceList><device>\
        <deviceType>urn:schemas-upnp-org:device:WANConnectionDevice:1</deviceType><serviceList><service>\
        <serviceType>urn:schemas-upnp-org:service:\(service)</serviceType><controlURL>\(control)</controlURL>\
        </service></serviceList></device></deviceList></device></deviceList></device></root>
        """.utf8)
}
