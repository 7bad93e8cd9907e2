import Testing
import Transport
import TransportBluetooth

@Suite struct BluetoothAddressTests {
    @Test(arguments: [
        ("C0:FF:EE:00:00:01", "C0:FF:EE:00:00:01"), ("c0:ff:ee:00:00:01", "C0:FF:EE:00:00:01"),
        ("00:00:00:00:00:00", "00:00:00:00:00:00"), ("0A:0b:0C:0d:0E:0f", "0A:0B:0C:0D:0E:0F"),
    ])
    func reads(_ text: String, _ written: String) throws {
        let address = try #require(BluetoothAddress(text))
        #expect(address.description == written)
        #expect(BluetoothAddress(address.kernel) == address)
        // Whatever is an address here is one for the rest of the program.
        #expect(try LinkAddress(parsing: "ble://" + text) == address.linkAddress)
    }

    @Test(arguments: [
        "", ":", "C0:FF:EE:00:00", "C0:FF:EE:00:00:01:02", "C0:FF:EE:00:00:1", "C0:FF:EE:00:00:0G", "C0-FF-EE-00-00-01",
        "C0:FF:EE:00:00:+1", "C0:FF:EE:00:00:-1", "C0FFEE000001", " C0:FF:EE:00:00:01", "C0:FF:EE:00:00:01\n",
        "１0:FF:EE:00:00:01",
    ])
    func refuses(_ text: String) {
        #expect(BluetoothAddress(text) == nil)
    }

    @Test func kernelHasTheLeastSignificantByteFirst() throws {
        let address = try #require(BluetoothAddress("01:02:03:04:05:06"))
        #expect(withUnsafeBytes(of: address.kernel) { Array($0) } == [6, 5, 4, 3, 2, 1])
    }
}
