/** Names as they mean the same: `apiKey`, `api_key`, `API-KEY`. */
const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

const SECRET_PART =
  /password|passwd|passphrase|passcode|secret|token|credential|authorization|cookie|bearer|privatekey|apikey|accesskey|secretkey|signingkey|encryptionkey|masterkey|sharedkey|subscriptionkey|keyid$|keymaterial|serviceaccount|signature|assertion|sessionid|connectionstring|\bjwt\b|otp$/;
const SECRET_WHOLE = new Set(['key', 'pass', 'pwd', 'pin', 'auth', 'jwt', 'hash', 'salt', 'cert', 'pem', 'code']);

/** Whether what stands under this name opens a door, as far as a name can say it. */
export const isSecretName = (name: string): boolean => {
  const word = plain(name);
  return SECRET_WHOLE.has(word) || SECRET_PART.test(word);
};

const ADDRESS_NAMES = new Set(['webhookurl', 'logurl', 'jwksuri', 'introspectendpoint']);

/** Whether an address stands under this name that a check calls: a client that knows all of it can call it, too. */
export const isAddressName = (name: string): boolean => ADDRESS_NAMES.has(plain(name));

/** Options of providers that are credentials themselves: sealed when stored, never shown, never logged. */
export const secretOptionNames: ReadonlySet<string> = new Set([
  'aws_access_key_id',
  'aws_secret_access_key',
  'aws_session_token',
  'azure_ad_token',
  'azure_entra_client_secret',
  'oracle_key_passphrase',
  'oracle_private_key',
  'vertex_service_account_json',
]);

/** Members of a virtual key's configurations that a secret store may keep: certificates are changed together with their keys. */
export const storedSecretNames: ReadonlySet<string> = new Set([
  ...secretOptionNames,
  'tls_authorities',
  'tls_certificate',
  'tls_private_key',
]);
