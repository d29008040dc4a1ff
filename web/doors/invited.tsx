import { useState } from 'react';
import { api } from '../api/client.ts';
import { Door, DoorForm, enter, TextField } from './doors.tsx';

/** The link of an invite: makes the invited person a user, and signs them in. */
export function Invited({ token }: { readonly token: string }) {
  const [first, setFirst] = useState('');
  const [last, setLast] = useState('');
  const [password, setPassword] = useState('');
  const accept = async () => {
    const { email } = await api.post('/v1/sessions/invites/accept', {
      body: { token, password, first_name: first.trim() || null, last_name: last.trim() || null },
    });
    await api.post('/v1/sessions', { body: { email, password } });
    enter();
  };
  return (
    <Door title="You are invited" about="Choose a password, and your account is made. The link works once.">
      <DoorForm submit="Join" work={accept}>
        <TextField
          label="First name"
          autoComplete="given-name"
          isOptional
          autoFocus
          value={first}
          onChange={setFirst}
        />
        <TextField label="Last name" autoComplete="family-name" isOptional value={last} onChange={setLast} />
        <TextField
          label="Password"
          type="password"
          autoComplete="new-password"
          help="8 characters or more."
          minLength={8}
          value={password}
          onChange={setPassword}
        />
      </DoorForm>
    </Door>
  );
}
