import BlockExchange
import Phrases

extension DeviceIDError: PhrasedError {
    /// `description`, which can be translated: BlockExchange knows no other language than English.
    package var text: Phrase {
        switch self {
        case .wrongLength:
            Phrase("a device id has 56 letters and digits (8 groups of 7); copy it whole, as `synctrain id` prints it")
        case .wrongCharacter:
            Phrase(
                "a device id has only the letters A to Z and the digits 2 to 7; copy it whole, as `synctrain id` prints it"
            )
        case .wrongCheckCharacter(let group):
            Phrase(
                "the device id has a typing error in groups \(group * 2 - 1) and \(group * 2); compare them and try again"
            )
        }
    }
}
