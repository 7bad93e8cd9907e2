import Phrases

/// Whether Bluetooth can be used, why not, and what to do about it.
package struct BluetoothState: Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// Nobody runs the transport, or it has only begun to look.
        case starting
        case ready
        /// No connection to the system bus.
        case noBus
        /// bluetoothd does not run.
        case noService
        /// There is no adapter, or not the one that was asked for.
        case noAdapter
        case poweredOff
        /// Switched off by rfkill: airplane mode, or a switch on the case.
        case blocked
        /// The system does not let this user use Bluetooth.
        case notPermitted
        /// Ready to connect to others, while being found by them fails.
        case notAdvertising
    }

    package var code: Code
    /// What is the matter, as a sentence.
    package var text: Phrase
    /// What the user can do, as a sentence; nil when nothing needs to be done.
    package var remedyText: Phrase?
    /// The same as a command for a shell, where there is one that is complete.
    package var command: String?
    /// `hci0`; nil while there is none.
    package var adapter: String?
    package var address: BluetoothAddress?
    /// Whether nearby devices can find this one.
    package var isAdvertising: Bool

    package init(
        _ code: Code, _ text: Phrase, remedy: Phrase? = nil, command: String? = nil, adapter: String? = nil,
        address: BluetoothAddress? = nil, isAdvertising: Bool = false
    ) {
        self.code = code
        self.text = text
        remedyText = remedy
        self.command = command
        self.adapter = adapter
        self.address = address
        self.isAdvertising = isAdvertising
    }

    /// Whether dialling makes sense.
    package var isUsable: Bool { code == .ready || code == .notAdvertising }

    /// Both in English.
    package var message: String { text.english }
    package var remedy: String? { remedyText?.english }

    package var description: String { phrase.english }

    /// What is the matter and what the user can do.
    package var phrase: Phrase { remedyText.map { "\(text) \($0)" } ?? text }
}
