import Foundation
import Testing

/// What Linux says of its own memory for connections.
enum KernelBuffers {
    /// Most bytes that one direction of a TCP connection holds: the sender's buffer and the receiver's, fully grown.
    static func largestOfTCP() throws -> Int {
        try ["tcp_wmem", "tcp_rmem"].reduce(0) { sum, name in
            let text = try String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
            // Least, default and most.
            let largest = text.split { $0.isWhitespace }.last.flatMap { Int($0) }
            return sum + (try #require(largest, "\(name) says “\(text)”"))
        }
    }
}
