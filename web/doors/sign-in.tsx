import { useEffect, useState } from 'react';
import { api } from '../api/client.ts';
import { Note } from '../design/states.tsx';
import { Door, DoorForm, TextField } from './doors.tsx';

/** What the gateway takes as a place to come back to. */
const LONGEST_PLACE = 500;
const placeToReturnTo = (): string => {
  const { pathname, search } = location;
  return [pathname + search, pathname].find((place) => place.length <= LONGEST_PLACE) ?? '/console';
};

/** Stands at whatever address was asked for: after signing in the page is loaded again, and the place is kept. */
export function SignIn({ notice }: { readonly notice: string | null }) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [hasOidc, setOidc] = useState(false);
  useEffect(() => {
    api.get('/v1/sessions/ways').then(
      ({ oidc }) => setOidc(oidc),
      () => {},
    );
  }, []);
  const signIn = async () => {
    await api.post('/v1/sessions', { body: { email, password } });
    location.reload();
  };
  return (
    <Door title="Sign in to Gateway">
      {notice && <Note tone="warn">{notice}</Note>}
      <DoorForm submit="Sign in" work={signIn}>
        <TextField label="Email" type="email" autoComplete="username" autoFocus value={email} onChange={setEmail} />
        <TextField
          label="Password"
          type="password"
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
        />
      </DoorForm>
      {/* Below: it is known a moment later, and what people type into must not move. */}
      {hasOidc && (
        <>
          <div className="door-or">or</div>
          <a
            className="button button-plain"
            href={`/v1/sessions/oidc?return_to=${encodeURIComponent(placeToReturnTo())}`}
          >
            Continue with your organisation
          </a>
        </>
      )}
    </Door>
  );
}
