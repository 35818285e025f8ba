CREATE TABLE IF NOT EXISTS vars (
  name     TEXT NOT NULL,
  schema   TEXT NOT NULL,
  value    TEXT NOT NULL,
  created  INTEGER NOT NULL,
  updated  INTEGER NOT NULL,
  tags     TEXT NOT NULL DEFAULT '{}',
  labels   TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (name, schema)
);
CREATE TABLE IF NOT EXISTS var_history (
  name     TEXT NOT NULL,
  schema   TEXT NOT NULL,
  value    TEXT NOT NULL,
  position INTEGER NOT NULL,
  set_at   INTEGER NOT NULL,
  PRIMARY KEY (name, schema, position),
  FOREIGN KEY (name, schema) REFERENCES vars(name, schema) ON DELETE CASCADE
);
CREATE TABLE IF NOT EXISTS tags (
  target   TEXT NOT NULL,
  key      TEXT NOT NULL,
  value    TEXT,
  created  INTEGER NOT NULL,
  PRIMARY KEY (target, key)
);
CREATE INDEX IF NOT EXISTS idx_vars_name ON vars(name);
CREATE INDEX IF NOT EXISTS idx_vars_created ON vars(created);
CREATE INDEX IF NOT EXISTS idx_vars_updated ON vars(updated);
CREATE INDEX IF NOT EXISTS idx_var_history_pos_desc ON var_history(name, schema, position DESC);
CREATE INDEX IF NOT EXISTS idx_tags_key ON tags(key);
CREATE INDEX IF NOT EXISTS idx_tags_key_value ON tags(key, value);
