// Greets by name: the same tool as examples/hello, as a Go program that speaks ABI 1 by itself.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Arguments struct {
			Name string `json:"name"`
		} `json:"arguments"`
	} `json:"params"`
}

type object = map[string]any

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<16)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked request
		if json.Unmarshal(line, &asked) != nil {
			os.Exit(1)
		}
		// A notification is not answered.
		if asked.ID == nil {
			continue
		}
		answer := object{"jsonrpc": "2.0", "id": asked.ID}
		if result := answerTo(&asked); result != nil {
			answer["result"] = result
		} else {
			answer["error"] = object{"code": -32601, "message": "there is no such method"}
		}
		text, err := json.Marshal(answer)
		if err != nil {
			os.Exit(1)
		}
		out.Write(append(text, '\n'))
		out.Flush()
	}
}

func answerTo(asked *request) object {
	switch asked.Method {
	case "server/discover":
		return object{
			"supportedVersions": []string{"2026-07-28"},
			"capabilities":      object{"tools": object{}},
			"resultType":        "complete", "ttlMs": 0, "cacheScope": "private",
		}
	case "tools/list":
		return object{
			"tools": []object{{
				"name": "greet", "description": "Greet someone by name.",
				"inputSchema": object{
					"type":       "object",
					"properties": object{"name": object{"type": "string", "description": "Who to greet."}},
					"required":   []string{"name"},
				},
			}},
			"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
		}
	case "tools/call":
		name := asked.Params.Arguments.Name
		if name == "" {
			return object{"content": []object{text("name must be a string that is not empty")}, "isError": true}
		}
		message := "Hello, " + name + "!"
		return object{"content": []object{text(message)}, "structuredContent": object{"message": message}}
	}
	return nil
}

func text(words string) object {
	return object{"type": "text", "text": words}
}
