// The official client and server of Go, for the table of clients:
//
//	clients server <port>
//	clients client <url> <key> <prefix>
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type said struct {
	Said string `json:"said"`
}
type nothing struct{}

func text(words string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: words}}}
}

func serve(port string) {
	server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, given said) (*mcp.CallToolResult, any, error) {
		return text(given.Said), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "secret"}, func(_ context.Context, _ *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		return text("GOT IT"), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "limited"}, func(_ context.Context, _ *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		return text("once"), nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	http.Handle("/mcp", handler)
	fmt.Println(http.ListenAndServe("127.0.0.1:"+port, nil))
}

type withKey struct{ key string }

func (k withKey) RoundTrip(request *http.Request) (*http.Response, error) {
	own := request.Clone(request.Context())
	own.Header.Set("x-gateway-api-key", k.key)
	return http.DefaultTransport.RoundTrip(own)
}

type steps struct {
	url, key, prefix string
	session          *mcp.ClientSession
}

func (s *steps) connect(ctx context.Context) (string, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "check", Version: "1.0.0"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: withKey{s.key}}}
	session, err := client.Connect(ctx, transport, nil)
	s.session = session
	return "ok", err
}

func (s *steps) use(ctx context.Context, name string, given any) (string, error) {
	result, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: s.prefix + name, Arguments: given})
	if err != nil {
		return "", err
	}
	words := ""
	if len(result.Content) > 0 {
		if content, isText := result.Content[0].(*mcp.TextContent); isText {
			words = content.Text
		}
	}
	if result.IsError {
		return "", errors.New(words)
	}
	return words, nil
}

func (s *steps) echo(ctx context.Context, words string) error {
	told, err := s.use(ctx, "echo", said{words})
	if err == nil && told != words {
		return errors.New("another echo")
	}
	return err
}

func (s *steps) do(name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	switch name {
	case "connect":
		// A session lives longer than the time of one step.
		return s.connect(context.Background())
	case "list":
		hasEcho := false
		for tool, err := range s.session.Tools(ctx, nil) {
			if err != nil {
				return "", err
			}
			if tool.Name == s.prefix+"secret" {
				return "", errors.New("a tool that is switched off is listed")
			}
			hasEcho = hasEcho || tool.Name == s.prefix+"echo"
		}
		if !hasEcho {
			return "", errors.New("echo is not listed")
		}
		return "ok", nil
	case "call":
		return "ok", s.echo(ctx, "hello")
	case "denied":
		if _, err := s.use(ctx, "secret", nothing{}); err == nil {
			return "", errors.New("a tool that is switched off was called")
		}
		return "ok", s.echo(ctx, "hello")
	case "limited":
		var last error
		for range 3 {
			_, last = s.use(ctx, "limited", nothing{})
		}
		if last == nil {
			return "", errors.New("a limit did not hold")
		}
		return "ok", s.echo(ctx, "hello")
	case "parallel":
		results := make(chan error, 100)
		for number := range 100 {
			go func() { results <- s.echo(ctx, fmt.Sprint("number ", number)) }()
		}
		var failed error
		for range 100 {
			failed = errors.Join(failed, <-results)
		}
		return "ok", failed
	case "again":
		why := s.echo(ctx, "again")
		if why == nil {
			return "ok", nil
		}
		go s.session.Close()
		if _, err := s.connect(context.Background()); err != nil {
			return "", err
		}
		return "new session: " + why.Error(), s.echo(ctx, "anew")
	}
	return "", errors.New("no such step")
}

func main() {
	if os.Args[1] == "server" {
		serve(os.Args[2])
		return
	}
	all := &steps{url: os.Args[2], key: os.Args[3], prefix: os.Args[4]}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		told, err := all.do(strings.TrimSpace(lines.Text()))
		if err != nil {
			told = "FAILED: " + err.Error()
		}
		told = strings.Join(strings.Fields(told), " ")
		fmt.Println("> " + told[:min(len(told), 300)])
	}
}
