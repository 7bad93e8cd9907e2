import COpenSSL

/// Random numbers fit for keys, nonces and identifiers, from libcrypto's generator (seeded by the kernel).
///
/// For decisions that a test must be able to repeat, take a generator as a parameter instead.
public enum SecureRandom {
    /// `count` random bytes; `count` is not negative.
    public static func bytes(count: Int) -> [UInt8] {
        precondition(count >= 0, "a count of bytes is not negative")
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            fill(UnsafeMutableRawBufferPointer(buffer))
            initializedCount = count
        }
    }

    /// A number uniform over all 64-bit values.
    public static func uint64() -> UInt64 {
        var value: UInt64 = 0
        withUnsafeMutableBytes(of: &value) { fill($0) }
        return value
    }

    /// Overwrites `buffer` with random bytes.
    public static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        // RAND_bytes counts in a C int.
        var rest = buffer[...]
        while !rest.isEmpty {
            let part = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(1 << 20))
            let filled = part.withMemoryRebound(to: UInt8.self) { RAND_bytes($0.baseAddress, CInt($0.count)) }
            guard filled == 1 else {
                // Going on without randomness would give away keys; nothing a peer sends leads here.
                fatalError("libcrypto has no randomness: \(CryptographyError.drainErrors() ?? "no reason given")")
            }
            rest = rest.dropFirst(part.count)
        }
    }
}
