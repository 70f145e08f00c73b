// What a call costs without WebAssembly: reads one request on stdin and answers it as
// examples/hello does, finding the id and the name in the line and copying them as they stand.
#include <stdio.h>
#include <string.h>

// The JSON text of the value after `"key":`, a string or a number.
static const char *value(const char *line, const char *key, int *length) {
  const char *at = strstr(line, key);
  if (!at) return NULL;
  at += strlen(key);
  const char *end = at;
  if (*end == '"') {
    for (end++; *end && *end != '"'; end++) {
      if (*end == '\\' && end[1]) end++;
    }
    end++;
  } else {
    end += strcspn(end, ",}");
  }
  *length = (int)(end - at);
  return at;
}

int main(void) {
  static char line[65536];
  if (!fgets(line, sizeof line, stdin)) return 1;
  const char *arguments = strstr(line, "\"arguments\":");
  int id_length, name_length;
  const char *id = value(line, "\"id\":", &id_length);
  const char *name = arguments ? value(arguments, "\"name\":", &name_length) : NULL;
  if (!id || !name) return 1;
  // Without its quotes.
  name++;
  name_length -= 2;
  printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"Hello, %.*s!\"}],"
         "\"structuredContent\":{\"message\":\"Hello, %.*s!\"}}}\n",
         id_length, id, name_length, name, name_length, name);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
  }
  return 0;
}
