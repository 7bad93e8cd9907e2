import Glibc
import MessageBus

/// The switches of rfkill, as the kernel shows them in sysfs (Documentation/ABI/stable/sysfs-class-rfkill).
enum RadioSwitch {
    /// Whether any Bluetooth radio is blocked; nothing where there is no rfkill.
    static func blocks(at root: String = "/sys/class/rfkill") -> BluetoothFacts.Blocks {
        var blocks = BluetoothFacts.Blocks()
        guard let directory = opendir(root) else { return blocks }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix("rfkill"), word("\(root)/\(name)/type") == "bluetooth" else { continue }
            if word("\(root)/\(name)/soft") == "1" { blocks.bySoftware = true }
            if word("\(root)/\(name)/hard") == "1" { blocks.byHardware = true }
        }
        return blocks
    }

    /// A file's first bytes up to its line's end.
    private static func word(_ path: String) -> String? {
        let number = open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        let file = Descriptor(owning: number)
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = read(file.number, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
