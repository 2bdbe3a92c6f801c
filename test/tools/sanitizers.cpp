// Loaded into a server that runs the sanitized extension, together with the address sanitizer.

extern "C" {

// These options cannot be in the environment, because PostgreSQL has overwritten it by the time that the sanitizer
// reads them.
const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

// With the address sanitizer of Debian 12, glibc's bindtextdomain() waits for ever. With the following two functions
// instead, messages are not translated.
char* bindtextdomain(const char* /*domain*/, char* directory) { return directory; }

char* textdomain(char* domain) { return domain; }
}
