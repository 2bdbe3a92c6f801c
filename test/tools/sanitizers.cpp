// Loaded into a server that runs the sanitized extension, together with the address sanitizer.

extern "C" {

// These options cannot be in the environment: PostgreSQL has overwritten it when they are read.
const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

// With the address sanitizer of Debian 12, glibc's bindtextdomain() waits for ever. With these two instead, messages
// are not translated.
char* bindtextdomain(const char* /*domain*/, char* directory) { return directory; }

char* textdomain(char* domain) { return domain; }
}
