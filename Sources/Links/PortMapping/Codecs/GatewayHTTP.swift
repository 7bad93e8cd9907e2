import Transport

/// A plain-HTTP request to a router in this network.
package struct GatewayHTTPRequest: Sendable, Equatable {
    package enum Method: String, Sendable { case get = "GET", post = "POST" }

    package struct Header: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    package var method: Method
    package var url: RouterURL
    /// To be sent with the names spelled as here; `Host`, `Content-Length` and `Connection: close` come in addition.
    package var headers: [Header]
    package var body: [UInt8]
    /// The address to connect from: routers refuse to map a port to another address than the sender's.
    package var localAddress: IPAddress
    /// More of a body is not to be read.
    package var maximumBodyByteCount: Int
    package var timeout: Duration
}

package struct GatewayHTTPAnswer: Sendable, Equatable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// Performs one request on a connection of its own. Follows no redirect, and gives at most `maximumBodyByteCount` bytes of
/// body or throws.
package typealias GatewayHTTP = @Sendable (GatewayHTTPRequest) async throws -> GatewayHTTPAnswer
