import Phrases
import TOML

extension SettingsTable {
    /// A number of bytes in a second, `2 MiB/s` or `2 MiB`; nil where it is not there or 0, for no limit.
    func rate(_ key: String) throws(ConfigurationError) -> Int64? {
        guard let value = value(key) else { return nil }
        if case .integer(let number) = value, number >= 0 { return number == 0 ? nil : number }
        guard case .string(var text) = value else {
            throw error(.wrongType, key, Phrase("`\(key)` is a rate; write it as `\"2 MiB/s\"`, or 0 for no limit"))
        }
        if text.hasSuffix("/s") { text.removeLast(2) }
        guard let byteCount = ByteCountText.parse(text) else {
            throw error(
                .invalidValue, key, Phrase("`\(key)` is not a rate; write it as `\"2 MiB/s\"`, or 0 for no limit"))
        }
        return byteCount == 0 ? nil : byteCount
    }

    /// A time of day as `08:30`, in minutes; `24:00` is the end of the day.
    func minuteOfDay(_ key: String) throws(ConfigurationError) -> Int {
        guard let minute = TransferLimits.minuteOfDay(try string(key) ?? "") else {
            throw error(.invalidValue, key, Phrase("`\(key)` is not a time of day; write it as `\"08:30\"`"))
        }
        return minute
    }

    func policies() throws(ConfigurationError) -> TransferPolicies {
        try allow(["on-metered", "metered-limit", "local-network", "on-battery", "battery-below"])
        var policies = TransferPolicies()
        if let restraint: TransferPolicies.Restraint = try choice("on-metered") { policies.onMetered = restraint }
        // 0 is no rate here: what is to go as fast as it can is not limited.
        if table["metered-limit"] != nil { policies.meteredRate = try rate("metered-limit") ?? 0 }
        if let includes = try bool("local-network") { policies.includesLocalNetwork = includes }
        if let restraint: TransferPolicies.Restraint = try choice("on-battery") { policies.onBattery = restraint }
        if let charge = try int("battery-below") { policies.batteryBelow = charge }
        return policies
    }
}
