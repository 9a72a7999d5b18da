/*
 * examples/settings.cpp --
 *
 *	Reads settings, lines of the form NAME=VALUE, from standard input, prints them sorted by name,
 *	and traces what it reads. C++11 or later.
 *
 *	Build it with `make examples`. doc/capi_etw.man shows how to record its events: those of provider
 *	Example-Settings, while it runs as `examples/settings < FILE`.
 */
#include "etw.h"
#include <iostream>
#include <map>
#include <string>

// A registered provider, for as long as the object exists.
struct Provider {
    explicit Provider(const char *name) : handle(Etw_Register(name, nullptr))
    {
    }
    ~Provider()
    {
        Etw_Unregister(handle);
    }
    Provider(const Provider &) = delete;
    Etw_Provider *const handle;
};

// A new activity: the calling thread's current one, for as long as the object exists.
struct Activity {
    Activity()
    {
        Etw_ActivityCreate(&id);
        Etw_ActivitySet(&id);
    }
    ~Activity()
    {
        Etw_ActivitySet(nullptr);
    }
    Activity(const Activity &) = delete;
    Etw_Guid id;
};

static const Provider provider("Example-Settings");

// A template has call sites like any other function.
template <typename Settings>
static void readLine(Settings &settings, const std::string &line, unsigned number)
{
    const auto equals = line.find('=');
    if (equals == std::string::npos) {
        ETW_WRITE(provider.handle, "Ignored", ETW_LEVEL(ETW_LEVEL_WARNING), ETW_U32("Line", number),
                ETW_STRN("Text", line.data(), line.size()));
        return;
    }
    const auto name = line.substr(0, equals), value = line.substr(equals + 1);
    const bool replaced = settings.count(name) != 0;
    settings[name] = value;
    ETW_WRITE(provider.handle, "Set", ETW_LEVEL(ETW_LEVEL_VERBOSE), ETW_U32("Line", number),
            ETW_STR("Name", name.c_str()), ETW_STR("Value", value.c_str()),
            ETW_BOOL("Replaced", replaced));
}

int main()
{
    std::map<std::string, std::string> settings;
    const Activity activity;
    unsigned lines = 0;
    ETW_WRITE(provider.handle, "Read", ETW_OPCODE(ETW_OPCODE_START));
    for (std::string line; std::getline(std::cin, line);) {
        readLine(settings, line, ++lines);
    }
    ETW_WRITE(provider.handle, "Read", ETW_OPCODE(ETW_OPCODE_STOP), ETW_U32("Lines", lines),
            ETW_U64("Settings", settings.size()));
    for (const auto &setting : settings) {
        std::cout << setting.first << "=" << setting.second << "\n";
    }
    return 0;
}
