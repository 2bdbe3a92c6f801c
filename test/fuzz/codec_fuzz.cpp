// Reads any bytes as a stored signature and as a text form: what is accepted must be written back unchanged.
#include <cstdlib>
#include <cstring>

#include "../unit/support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::vector<std::uint32_t> aligned((size + 3) / 4);
    if (size > 0)
        std::memcpy(aligned.data(), data, size);
    minhash::signature value;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(aligned.data());
    if (minhash::decode({bytes, size}, value) == minhash::status::ok) {
        std::uint8_t header[minhash::header_bytes];
        minhash::encode_header(value.scheme, header);
        if (std::memcmp(header, data, sizeof(header)) != 0)
            std::abort();
    }

    const std::string text(reinterpret_cast<const char*>(data), size);
    std::vector<std::uint32_t> room(size / minhash::digits_per_slot + 1);
    if (minhash::parse_text(text, value, room.data()).what == minhash::status::ok) {
        std::string lower = text;
        for (char& letter : lower)
            letter = letter >= 'A' && letter <= 'F' ? static_cast<char>(letter + 32) : letter;
        if (support::write_text(value) != lower)
            std::abort();
    }
    return 0;
}
