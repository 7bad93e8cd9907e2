import COpenSSL

/// scrypt (RFC 7914): a digest of a password that takes time and memory to make, so that guessing is slow.
public enum Scrypt {
    /// What a digest costs. Memory is `128 * cost * blockSize` bytes.
    public struct Parameters: Equatable, Sendable {
        /// N, a power of two.
        public var cost: UInt64
        /// r
        public var blockSize: UInt64
        /// p
        public var parallelism: UInt64

        public init(cost: UInt64, blockSize: UInt64, parallelism: UInt64) {
            self.cost = cost
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// 32 MiB, three times over: as OWASP's list of 2024 has it for little memory.
        public static let usual = Parameters(cost: 1 << 15, blockSize: 8, parallelism: 3)

        /// Whether a digest can be made with them: at most 256 MiB, and a second or so of work.
        public var isSound: Bool {
            (2...1 << 20).contains(cost) && cost & (cost - 1) == 0 && (1...32).contains(blockSize)
                && (1...16).contains(parallelism) && cost * blockSize <= 1 << 21
        }
    }

    /// More than any password has.
    public static let passwordLimit = 4096

    /// Makes a digest of 32 bytes. It takes some tenths of a second: not for an event loop.
    ///
    /// - Throws: `CryptographyError` (`libraryFailed`) for parameters that are not sound, a longer password than `passwordLimit`, or if
    ///   memory is out.
    public static func digest(
        of password: [UInt8], salt: [UInt8], _ parameters: Parameters
    ) throws(CryptographyError) -> SHA256Digest {
        var output = [UInt8](repeating: 0, count: SHA256Digest.byteCount)
        let memory: UInt64 = 288 << 20
        guard parameters.isSound, password.count <= passwordLimit else {
            throw .libraryFailed("use these parameters of scrypt")
        }
        let made = password.withUnsafeBytes { password in
            EVP_PBE_scrypt(
                password.baseAddress?.assumingMemoryBound(to: CChar.self), password.count, salt, salt.count,
                parameters.cost, parameters.blockSize, parameters.parallelism, memory, &output, output.count)
        }
        guard made == 1, let digest = SHA256Digest(output) else { throw .libraryFailed("make a digest with scrypt") }
        return digest
    }
}

extension SHA256Digest {
    /// Whether both are the same; takes the same time wherever they differ.
    public func isSame(as other: SHA256Digest) -> Bool {
        withUnsafeBytes { own in
            other.withUnsafeBytes { CRYPTO_memcmp(own.baseAddress, $0.baseAddress, own.count) == 0 }
        }
    }
}
