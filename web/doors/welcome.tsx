import { useState } from 'react';
import { api } from '../api/client.ts';
import { Door, DoorForm, enter, TextField } from './doors.tsx';

/** The link that the first start printed: makes the first owner. */
export function Welcome({ token }: { readonly token: string }) {
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const begin = async () => {
    await api.post('/v1/sessions/first-owner', { body: { token, email, password, first_name: name.trim() || null } });
    enter();
  };
  return (
    <Door title="Welcome to Gateway" about="You are the first here: this account owns everything, and lets others in.">
      <DoorForm submit="Begin" work={begin}>
        <TextField label="Email" type="email" autoComplete="username" autoFocus value={email} onChange={setEmail} />
        <TextField label="Name" autoComplete="name" isOptional value={name} onChange={setName} />
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
