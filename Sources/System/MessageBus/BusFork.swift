/// Has several listeners hear one bus.
package final class BusFork: BusListener {
    private let listeners: [any BusListener]
    private let callee: any BusListener

    /// - Parameters:
    ///   - listeners: hear everything but calls, in this order.
    ///   - callee: answers calls.
    package init(_ listeners: [any BusListener], callee: any BusListener) {
        self.listeners = listeners
        self.callee = callee
    }

    package func busConnected() {
        for listener in listeners { listener.busConnected() }
    }

    package func busLost(_ reason: SystemError) {
        for listener in listeners { listener.busLost(reason) }
    }

    package func busSignalled(_ signal: BusNotice) {
        for listener in listeners { listener.busSignalled(signal) }
    }

    package func busCalled(_ call: BusNotice) -> BusAnswer { callee.busCalled(call) }
}
