/** The least that a relay of WebSockets can do: each frame as it comes, both ways, and nothing is known of it. */
const [port, upstream] = process.argv.slice(2);

interface Pair {
  socket: WebSocket;
  waiting: (string | Buffer)[] | null;
}

Bun.serve<Pair>({
  hostname: '127.0.0.1',
  port: Number(port),
  fetch(request, server) {
    const { pathname, search } = new URL(request.url);
    if (pathname === '/ready') return new Response('ready');
    const pair: Pair = { socket: new WebSocket(`${upstream}${pathname}${search}`), waiting: [] };
    return server.upgrade(request, { data: pair }) ? undefined : new Response(null, { status: 400 });
  },
  websocket: {
    data: {} as Pair,
    open(client) {
      const { data } = client;
      data.socket.onopen = () => {
        for (const frame of data.waiting ?? []) data.socket.send(frame);
        data.waiting = null;
      };
      data.socket.onmessage = ({ data: frame }) => void client.send(frame);
      data.socket.onclose = () => client.close();
    },
    message({ data }, frame) {
      if (data.waiting) data.waiting.push(frame);
      else data.socket.send(frame);
    },
    close: ({ data }) => data.socket.close(),
  },
});

export {};
