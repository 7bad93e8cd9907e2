/// Why a router did not map a port, or why what it sent cannot be used.
package struct PortMappingError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// What arrived cannot be read.
        case malformed
        /// What arrived is larger, deeper or longer than is read.
        case tooLarge
        /// Nothing answered.
        case silent
        /// The router speaks another protocol or version, or does not know the operation.
        case unsupported
        /// The router understood and refused.
        case refused
        /// No external port is free, or this device has used up its share.
        case noFreePort
        /// The router is not connected itself.
        case routerOffline
        /// The address that the router named must not be asked: it is not a private one of this network.
        case foreignLocation
        /// The router describes no service that maps ports.
        case noService
        /// An HTTP request to the router failed.
        case exchangeFailed
    }

    package var code: Code
    /// A clause for people: what happened, without the router's address.
    package var message: String
    /// The number that the router gave as its reason: a result of NAT-PMP or PCP, or UPnP's errorCode.
    package var result: Int?

    package init(_ code: Code, _ message: String, result: Int? = nil) {
        self.code = code
        self.message = message
        self.result = result
    }

    package var description: String { message }

    /// Whether the router itself said no, so that what it mapped before cannot be relied on.
    package var isRefusal: Bool {
        switch code {
        case .refused, .noFreePort, .routerOffline: true
        case .malformed, .tooLarge, .silent, .unsupported, .foreignLocation, .noService, .exchangeFailed: false
        }
    }

    static func malformed(_ what: String) -> PortMappingError { PortMappingError(.malformed, what) }

    static let notMapped = PortMappingError(.silent, "it did not answer")
}
