import NIOCore

/// How much a server does at once, and how long it waits.
package struct ServerLimits: Sendable {
    /// Requests at once on the socket, and as many over TCP besides files; further ones are answered `busy`. As many are sent a file
    /// of the page at once; a further one replaces the oldest.
    package var requests: Int
    /// Time for a request to arrive whole.
    package var requestTime: TimeAmount
    /// Time that requests have to end in when the server is told to.
    package var shutdownTime: TimeAmount
    /// Connections without a complete request, on the socket and as many over TCP; a further one replaces the oldest.
    package var connections: Int
    /// Files that are read at once over TCP by browsers that are logged in, and as many by links; further ones are answered `busy`.
    package var streams: Int
    /// The same with one link. Players and browsers have up to six connections.
    package var linkStreams: Int
    /// Time in which whoever reads over TCP has to take something.
    package var stallTime: TimeAmount

    package init(
        requests: Int = 64, requestTime: TimeAmount = .seconds(10), shutdownTime: TimeAmount = .seconds(1),
        connections: Int = 256, streams: Int = 32, linkStreams: Int = 8,
        stallTime: TimeAmount = .minutes(10)
    ) {
        self.requests = requests
        self.requestTime = requestTime
        self.shutdownTime = shutdownTime
        self.connections = connections
        self.streams = streams
        self.linkStreams = linkStreams
        self.stallTime = stallTime
    }
}
