import LinkRules
import Phrases

extension DialObstacle {
    /// Why the address is not tried, and what would change that.
    package var text: Phrase {
        switch self {
        case .paused: Phrase("the device is paused, or its index cannot be stored at the moment")
        case .idleRadio: Phrase("the radio searches in its background cycle, and when something waits for the device")
        case .relaysOff: Phrase("relays are switched off; set enabled = true under [relays]")
        case .directOff:
            Phrase("only the proxy is used; set proxy-only = false under [network], or unset ALL_PROXY_NO_FALLBACK")
        case .network:
            Phrase(
                "the address is outside the device's allowed networks; change them with "
                    + "`synctrain device set --allowed-networks`")
        case .relayName:
            Phrase(
                "the relay's name cannot be compared with the device's allowed networks; use the relay's IP address")
        }
    }
}
