import ControlAPI

/// Answers the requests of one subject, with what it needs for them and no more.
protocol RequestGroup: Sendable {
    /// Gives each of its endpoints a handler.
    func add(to table: inout EndpointHandlers)
}
