import type { AnonymousCall } from '../../http/route.ts';

/** Sends a browser elsewhere. After a form, 303: what comes next is fetched, and the form is not sent again. */
export const redirect = (
  { request }: AnonymousCall,
  location: string,
  headers: Readonly<Record<string, string>> = {},
): Response =>
  new Response(null, {
    status: request.method === 'POST' ? 303 : 302,
    headers: { location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', ...headers },
  });
