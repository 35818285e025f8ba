//! The server: who may ask ([`guard`]), what is asked for ([`routes`]), and what tells pages that they are out of date
//! ([`events`], [`watch`]).

mod actions;
mod events;
mod guard;
mod routes;
mod watch;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::net::TcpListener;
use uwf_agent::live::LiveReader;

use self::watch::Watch;
use crate::site::Site;

/// Who may see the pages: three secrets that nobody can guess, from whoever starts the server.
#[derive(Clone)]
pub struct Access {
    /// In the address that is printed; it is exchanged for a session.
    pub token: String,
    /// In the cookie of whoever has come with the token.
    pub session: String,
    /// In each form of that session.
    pub csrf: String,
    /// Names that the server may be called by besides its address.
    pub hosts: Vec<String>,
}

/// What every request sees.
struct App {
    site: Site,
    access: Access,
    address: SocketAddr,
    watch: Watch,
    /// How far the journals of what runs are read.
    reader: Mutex<LiveReader>,
}

/// A server that listens.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
}

impl Server {
    /// Listens at `address`; port 0 is any that is free.
    ///
    /// # Errors
    /// The address cannot be used.
    pub async fn bind(site: Site, access: Access, address: SocketAddr) -> io::Result<Server> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Server { app: App::new(site, access, address), listener })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.app.address
    }

    /// Serves until `stop` is there. Streams that are open then are cut.
    ///
    /// # Errors
    /// The listener fails.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let Server { app, listener } = self;
        watch::start(Arc::clone(&app))?;
        let served = tokio::select! {
            served = async { axum::serve(listener, router(Arc::clone(&app))).await } => served,
            () = stop => Ok(()),
        };
        app.watch.end();
        served
    }
}

impl App {
    fn new(site: Site, access: Access, address: SocketAddr) -> Arc<App> {
        let reader = Mutex::new(LiveReader::new(&site.homes.uwf));
        Arc::new(App { site, access, address, watch: Watch::default(), reader })
    }
}

/// Every address, behind the guard.
fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(routes::list))
        .route("/t/{thread}", get(routes::thread))
        .route("/t/{thread}/s/{step}", get(routes::step))
        .route("/t/{thread}/s/{step}/m/{message}", get(routes::message))
        .route("/t/{thread}/answer", post(actions::answer))
        .route("/t/{thread}/run", post(actions::run))
        .route("/t/{thread}/stop", post(actions::stop))
        .route("/evaluations", get(routes::evaluations))
        .route("/evaluation/{name}", get(routes::evaluation))
        .route("/evaluation/{name}/from/{before}", get(routes::difference))
        .route("/remote", get(routes::remote))
        .route("/events", get(events::events))
        .route("/assets/{name}", get(routes::asset))
        .fallback(routes::missing)
        .layer(from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}
