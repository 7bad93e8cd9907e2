import Glibc
import NIOCore
import Testing
import Transport

@testable import TransportTCP

extension LinkTests {
    /// What a person reads whose address is right but for the interface.
    @Suite struct DialErrorTests {
        @Test(arguments: [
            ("tcp://[fe80::1]:22000", LinkError.Code.invalidAddress), ("tcp://[fe80::1%eth0]:22000", .failed),
            ("tcp://[2001:db8::1]:22000", .failed), ("tcp://169.254.1.1:22000", .failed),
        ])
        func aLinkLocalAddressNeedsItsInterface(_ text: String, _ code: LinkError.Code) throws {
            let address = try LinkAddress(parsing: text)
            let error = LinkError(dialing: address, IOError(errnoCode: EINVAL, reason: "connect"))
            #expect(error.code == code)
            #expect(error.message.contains(text))
        }

        @Test func anInterfaceThatIsNotThereIsNamed() async throws {
            let address = try LinkAddress(parsing: "tcp://[fe80::1%nosuch0]:22000")
            let error = await #expect(throws: LinkError.self) {
                _ = try await TCPTransport().dial(address, timeout: .seconds(10)) { channel, information in
                    raw(channel, information)
                }
            }
            #expect(error?.code == .addressUnavailable)
            #expect(error?.there?.english.contains("no network interface nosuch0") == true)
        }
    }
}
