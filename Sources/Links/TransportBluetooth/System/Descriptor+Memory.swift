import CBluetooth
import Glibc
import MessageBus

extension Descriptor {
    /// Bytes of kernel memory that hold what was sent and has not left this machine; nil when the kernel does not say.
    package func unsentMemory() -> Int? {
        var figures = [UInt32](repeating: 0, count: Int(CBLUETOOTH_MEMINFO_COUNT))
        var length = socklen_t(figures.count * MemoryLayout<UInt32>.size)
        guard getsockopt(number, SOL_SOCKET, SO_MEMINFO, &figures, &length) == 0 else { return nil }
        return Int(figures[Int(CBLUETOOTH_MEMINFO_SENT)])
    }
}
