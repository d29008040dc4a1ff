/** A provider of conversations in real time: it answers each frame of sound with one of its own. */
const port = Number(process.argv[2]);
const sound = JSON.stringify({
  type: 'response.output_audio.delta',
  event_id: 'event_bench',
  response_id: 'resp_bench',
  item_id: 'item_bench',
  output_index: 0,
  content_index: 0,
  delta: 'UklGR'.repeat(1_280),
});

Bun.serve({
  hostname: '127.0.0.1',
  port,
  fetch(request, server) {
    if (new URL(request.url).pathname === '/ready') return new Response('ready');
    return server.upgrade(request) ? undefined : new Response(null, { status: 400 });
  },
  websocket: {
    open: (socket) => void socket.sendText('{"type":"session.created","session":{"type":"realtime"}}'),
    message(socket, frame) {
      const isAsked = typeof frame === 'string' && frame.startsWith('{"type":"response.create"');
      socket.sendText(isAsked ? '{"type":"response.created","response":{"id":"resp_bench"}}' : sound);
    },
  },
});

export {};
