import CSystemd
import Glibc

/// A connection to a bus, for one thread.
///
/// No callbacks of sd-bus are used: what arrives is handed out as values.
struct BusConnection: ~Copyable {
    enum Arrival {
        case signal(BusNotice)
        case call(BusNotice, CallHandle)
        case reply(cookie: UInt64, Result<[BusValue], BusError>)
        /// Something that could not be read, and that is left unanswered.
        case none
    }

    /// A call of a method of this program that waits for its answer.
    final class CallHandle {
        fileprivate let message: OpaquePointer

        fileprivate init(message: OpaquePointer) { self.message = message }

        deinit { sd_bus_message_unref(message) }
    }

    private let bus: OpaquePointer

    init(_ kind: BusKind = .system) throws(SystemError) {
        var bus: OpaquePointer?
        let result =
            switch kind {
            case .system: sd_bus_open_system(&bus)
            case .session: sd_bus_open_user(&bus)
            }
        guard result >= 0, let bus else { throw SystemError("sd_bus_open_\(kind)", -result) }
        self.bus = bus
    }

    deinit { sd_bus_close_unref(bus) }

    var descriptor: CInt { sd_bus_get_fd(bus) }

    var events: PollEvents {
        let events = sd_bus_get_events(bus)
        return events >= 0 ? PollEvents(rawValue: Int16(truncatingIfNeeded: events)) : .readable
    }

    /// When sd-bus wants to be called again, in microseconds of CLOCK_MONOTONIC; nil: when something arrives.
    var deadline: UInt64? {
        var deadline = UInt64.max
        guard sd_bus_get_timeout(bus, &deadline) >= 0 else { return nil }
        return deadline == .max ? nil : deadline
    }

    /// Sends a call and gives the number that its reply will carry.
    func send(_ call: BusCall) throws(SystemError) -> UInt64 {
        var message: OpaquePointer?
        let result = sd_bus_message_new_method_call(
            bus, &message, call.destination, call.path, call.interface, call.member)
        guard result >= 0, let message else { throw SystemError("sd_bus_message_new_method_call", -result) }
        defer { sd_bus_message_unref(message) }
        // A service that its user has stopped stays so.
        sd_bus_message_set_auto_start(message, call.startsService ? 1 : 0)
        for argument in call.arguments { try MessageCoding.append(argument, to: message) }
        var cookie: UInt64 = 0
        let sent = sd_bus_send(bus, message, &cookie)
        guard sent >= 0 else { throw SystemError("sd_bus_send", -sent) }
        return cookie
    }

    /// Sends a signal to everyone who listens.
    func emit(_ signal: BusSignal) throws(SystemError) {
        var message: OpaquePointer?
        let result = sd_bus_message_new_signal(bus, &message, signal.path, signal.interface, signal.member)
        guard result >= 0, let message else { throw SystemError("sd_bus_message_new_signal", -result) }
        defer { sd_bus_message_unref(message) }
        for argument in signal.arguments { try MessageCoding.append(argument, to: message) }
        let sent = sd_bus_send(bus, message, nil)
        guard sent >= 0 else { throw SystemError("sd_bus_send", -sent) }
    }

    /// Answers a call. Values that sd-bus does not take, such as a text with characters that D-Bus forbids, become an error for
    /// the caller: the connection goes on.
    func answer(_ call: CallHandle, _ answer: BusAnswer) throws(SystemError) {
        var reply: OpaquePointer?
        defer { sd_bus_message_unref(reply) }
        switch answer {
        case .values(let values):
            let result = sd_bus_message_new_method_return(call.message, &reply)
            guard result >= 0, let message = reply else {
                throw SystemError("sd_bus_message_new_method_return", -result)
            }
            do throws(SystemError) {
                for value in values { try MessageCoding.append(value, to: message) }
            } catch {
                return try self.answer(
                    call, .error(name: BusErrorName.failed, message: "the answer could not be put into a message"))
            }
        case .error(let name, let text):
            let result = name.withCString { name in
                text.withCString { text in
                    var error = sd_bus_error(name: name, message: text, _need_free: 0)
                    return sd_bus_message_new_method_error(call.message, &reply, &error)
                }
            }
            guard result >= 0 else { throw SystemError("sd_bus_message_new_method_error", -result) }
        }
        let sent = sd_bus_send(bus, reply, nil)
        guard sent >= 0 else { throw SystemError("sd_bus_send", -sent) }
    }

    /// Does what there is to do without waiting. nil when there is nothing; throws when the connection is lost.
    func next() throws(SystemError) -> Arrival? {
        var message: OpaquePointer?
        let result = sd_bus_process(bus, &message)
        guard result >= 0 else { throw SystemError("sd_bus_process", -result) }
        guard let message else { return result == 0 ? nil : Arrival.none }
        let handle = CallHandle(message: message)
        var type: UInt8 = 0
        sd_bus_message_get_type(message, &type)
        switch Int(type) {
        case SD_BUS_MESSAGE_SIGNAL:
            var limit = MessageLimit.answer
            guard let notice = Self.notice(message, &limit) else { return Arrival.none }
            return .signal(notice)
        case SD_BUS_MESSAGE_METHOD_CALL:
            var limit = MessageLimit.call
            guard let notice = Self.notice(message, &limit) else {
                try answer(
                    handle,
                    limit.isExceeded
                        ? .error(name: BusErrorName.limitsExceeded, message: "the arguments are too large")
                        : .error(name: BusErrorName.invalidArguments, message: "unreadable arguments"))
                return Arrival.none
            }
            return .call(notice, handle)
        default:
            var cookie: UInt64 = 0
            guard sd_bus_message_get_reply_cookie(message, &cookie) >= 0 else { return Arrival.none }
            return .reply(cookie: cookie, Self.result(message))
        }
    }

    private static func notice(_ message: OpaquePointer, _ limit: inout MessageLimit) -> BusNotice? {
        guard let values = MessageCoding.values(of: message, &limit) else { return nil }
        func text(_ field: UnsafePointer<CChar>?) -> String { field.map { String(cString: $0) } ?? "" }
        return BusNotice(
            sender: text(sd_bus_message_get_sender(message)), path: text(sd_bus_message_get_path(message)),
            interface: text(sd_bus_message_get_interface(message)), member: text(sd_bus_message_get_member(message)),
            arguments: values)
    }

    private static func result(_ message: OpaquePointer) -> Result<[BusValue], BusError> {
        if let error = sd_bus_message_get_error(message)?.pointee, let name = error.name {
            let text = error.message.map { String(cString: $0) } ?? ""
            return .failure(BusError(.remote, name: String(cString: name), text))
        }
        var limit = MessageLimit.answer
        guard let values = MessageCoding.values(of: message, &limit) else {
            return .failure(BusError(.invalid, "the answer could not be read"))
        }
        return .success(values)
    }
}
